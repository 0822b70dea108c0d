package replay
import ("testing";"os")
func TestX(t *testing.T){ if err:=Report(os.Stdout,"testdata/train",[]string{"log","ripple"});err!=nil{t.Fatal(err)} }
