import '../../../hud/src/code/worker.ts';
