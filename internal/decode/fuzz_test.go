package decode

import (
	"errors"
	"testing"

	"github.com/echomq/emqctl/internal/slot"
)

func FuzzParse(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add(v.Key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		k, err := Parse(key)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Off < 0 || e.Off > len(key) || e.Error() == "" {
				t.Fatalf("Parse(%q): %#v", key, err)
			}
			if k.Type != Unregistered || k.HasID() || k.HasName() {
				t.Fatalf("Parse(%q) = %+v beside its error", key, k)
			}
			Hint(key, err, clock)
			return
		}
		if got := k.String(); got != key {
			t.Fatalf("Parse(%q).String() = %q", key, got)
		}
		// All keys of a queue share its tag; that is what the braces are for.
		want := k.Queue
		if k.Space == Reserve {
			want = "emq"
		}
		if tag, rule := slot.Tag(key); tag != want || rule != slot.RuleTag {
			t.Fatalf("Parse(%q) has tag %q, %v, want %q", key, tag, rule, want)
		}
		last := 0
		for _, n := range k.Notes(clock) {
			if n.Off < last || n.Off > len(key) || n.Msg == "" {
				t.Fatalf("note %+v on %q", n, key)
			}
			last = n.Off
		}
		if k.Type == Unregistered {
			return
		}
		name := k.Name
		if k.HasID() {
			name = k.ID.String()
		}
		built, err := Build(k.Queue, k.Type, name)
		if err == nil && built != key {
			t.Fatalf("Build(%q, %s, %q) = %q, want %q", k.Queue, k.Type, name, built, key)
		}
	})
}
