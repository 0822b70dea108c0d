<?php
namespace Lager;

use Größen\Maß;

class Halle
{
    public function fügeHinzu(Artikel $a): void { $this->liste[] = $a; }

    public function broken(int $a, {
        if ($a >
        return $a;

    public function after(Maß $m): int { return Rechner::messe($m); }
}

function danach() { return zähle(); }

class Ende
{
    function los() {
        $x = [
