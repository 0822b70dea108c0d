package plural

import "testing"

func TestOnlyOneIsSingular(t *testing.T) {
	for want, got := range map[string]string{
		"0 messages": Of(0, "message"), "1 message": Of(1, "message"), "2 messages": Of(2, "message"),
		"1 entry": Of(1, "entry"), "12 entries": Of(12, "entry"),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
