package scripts_test

import (
	"testing"

	lua "github.com/echomq/emqctl/scripts"

	"github.com/echomq/emqctl/internal/scripts"
)

func TestLoadEmbedded(t *testing.T) {
	r, err := scripts.Load(lua.FS)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range r.Verbs() {
		t.Log(v.Module, v.Name, len(v.Keys), len(v.Args), len(v.Returns), len(v.Refusals), v.Body)
	}
}
