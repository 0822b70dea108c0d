package secrets

import "testing"

// R09: the patterns can be changed: others, exceptions, none.
func TestR09PatternsCanBeChanged(t *testing.T) {
	for name, test := range map[string]struct {
		patterns []string
		secret   []string
		plain    []string
	}{
		"none":           {nil, nil, []string{".env", "a.pem"}},
		"others":         {[]string{"*.tfvars", "private/", "conf/prod.yaml"}, []string{"a.tfvars", "x/private/y/z", "a/conf/prod.yaml"}, []string{".env", "private", "conf/x/prod.yaml"}},
		"and one more":   {[]string{Builtin, "*.tfvars"}, []string{".env", "a.tfvars"}, []string{"a.tf"}},
		"but one":        {[]string{Builtin, "!.env.test", "!fixtures/"}, []string{".env", "a.pem"}, []string{".env.test", "fixtures/a.pem"}},
		"the last wins":  {[]string{"!.env", ".env"}, []string{".env"}, nil},
		"any depth":      {[]string{"**/.hidden/"}, []string{".hidden/x", "a/.hidden/b/c"}, []string{"hidden/x"}},
		"case":           {[]string{"*.Secret"}, []string{"a.SECRET"}, nil},
		"not the folder": {[]string{"secrets"}, []string{"a/secrets"}, []string{"secrets/a.txt"}},
	} {
		s, err := Parse(test.patterns)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range test.secret {
			if !s.Match("/home/me/" + path) {
				t.Errorf("%s: %s is no secret", name, path)
			}
		}
		for _, path := range test.plain {
			if s.Match("/home/me/" + path) {
				t.Errorf("%s: %s is a secret", name, path)
			}
		}
	}
	for _, bad := range []string{"", "!", "/", "a//b", "[", "a/[/b", "a\x00"} {
		if Check(bad) == nil {
			t.Errorf("%q is a pattern", bad)
		}
	}
}

func FuzzSecretPattern(f *testing.F) {
	f.Add("!**/.ssh/", "/home/me/.ssh/id")
	f.Add("*.pem", "/a.pem")
	f.Add("a/[x-", "/")
	f.Fuzz(func(t *testing.T, pattern, path string) {
		if s, err := Parse([]string{pattern}); err == nil {
			s.Match(path)
		}
	})
}
