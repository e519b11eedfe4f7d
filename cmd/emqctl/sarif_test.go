package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestSARIF holds what lint prints to the schema of SARIF 2.1.0, as OASIS
// publishes it.
func TestSARIF(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("../../testdata/schema/sarif-2.1.0.json")
	if err != nil {
		t.Fatal(err)
	}
	read := func(doc string) any {
		t.Helper()
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(doc))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	const script = "redis.call('SET', 'a', 1)\nx = 1\nreturn redis.error_reply('no class')\n"
	for _, input := range []string{script, "return 1\n"} {
		out, errw, code := runAt(testClock, []string{"lint", "-o", "sarif", "-"}, strings.NewReader(input), nil)
		if errw != "" || code != codeNo && code != codeOK {
			t.Fatalf("code %d, stderr %q", code, errw)
		}
		doc := read(out)
		if err := schema.Validate(doc); err != nil {
			t.Error(err)
		}
		// The same findings as JSON has, each of a rule that is listed.
		asJSON, _, _ := runAt(testClock, []string{"lint", "-o", "json", "-"}, strings.NewReader(input), nil)
		run := doc.(map[string]any)["runs"].([]any)[0].(map[string]any)
		results := run["results"].([]any)
		if got, want := len(results), strings.Count(asJSON, "\n"); got != want {
			t.Errorf("%d results, want %d", got, want)
		}
		rules := run["tool"].(map[string]any)["driver"].(map[string]any)["rules"].([]any)
		for i, r := range results {
			r := r.(map[string]any)
			n, err := r["ruleIndex"].(json.Number).Int64()
			if err != nil {
				t.Fatal(err)
			}
			if id := rules[n].(map[string]any)["id"]; id != r["ruleId"] {
				t.Errorf("result %d is of %s and has the index of %s", i, r["ruleId"], id)
			}
		}
	}
	// Columns count UTF-16 code units, and a script that could not be looked
	// at is told.
	out, _, code := runAt(testClock, []string{"lint", "-o", "sarif", "-", "nowhere.lua"}, strings.NewReader("local s = \"é😀\" x = 1\n"), nil)
	if err := schema.Validate(read(out)); err != nil {
		t.Error(err)
	}
	for _, want := range []string{`"executionSuccessful":false`, `"startColumn":17`} {
		if !strings.Contains(out, want) || code != codeFailed {
			t.Errorf("code %d, no %s in %s", code, want, out)
		}
	}
	if out, _, _ := runAt(testClock, []string{"lint", "-o", "sarif", "-"}, strings.NewReader("return 1"), nil); !strings.Contains(out, `"executionSuccessful":true`) {
		t.Errorf("all was looked at: %s", out)
	}
	if err := schema.Validate(read(`{"version":"2.1.0","runs":[{"results":[]}]}`)); err == nil {
		t.Error("the schema takes a run without a tool")
	}
}
