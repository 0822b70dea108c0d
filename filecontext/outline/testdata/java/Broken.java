package lager;

import java.util.*;

public class Lager {
    private int größe;

    public void fügeHinzu(Artikel artikel) {
        liste.add(artikel);
    }

    public int broken(int a, {
        if (a > 
        return a;

    public int after(Maß m) {
        return Rechner.messe(m);
    }
}

class Zweite {
    void los() {
        int x = 
