import * as vscode from 'vscode';

/** The walkthrough in package.json. */
const WALKTHROUGH = 'strata.strata#start';

/** Shows the steps from the first start to the first prompt. */
export class Walkthrough {
  readonly table = {
    showWalkthrough: () => vscode.commands.executeCommand('workbench.action.openWalkthrough', WALKTHROUGH, false),
  };
}
