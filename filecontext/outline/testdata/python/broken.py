import sys
from pkg.größen import Maß as M, Länge

class Lager:
    def füge_hinzu(self, artikel: Artikel) -> None:
        self.artikel.append(artikel)

    def broken(self, a, :
        if a
            return [1, 2

    def after(self):
        return check_stock(self)

class Next(Lager, Basis):
    @cached
    def go_on(self, 名前: str): pass

def end(:
    x = {
