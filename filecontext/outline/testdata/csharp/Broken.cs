namespace Lager;

using Größen.Maße;

public class Halle
{
    public int Größe { get; set; }
    public void FügeHinzu(Artikel a) { liste.Add(a); }

    public int Broken(int a, {
        if (a >
        return a;

    public int After(Maß m) { return Rechner.Messe(m); }
}

public record Zweite(int X);

class Ende
{
    void Los() {
        var x = 
