package main

import (
	"encoding"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemas are the records of every command, as their contract structs.
func schemas() map[string][]any {
	return map[string][]any{
		"decode-key": {keyContract{}},
		"encode-key": {keyContract{}},
		"decode-id":  {idContract{}},
		"mint-id":    {idContract{}},
		"encode-id":  {encodedIDContract{}},
		"id-range":   {idRangeRecord{}},
		"slot":       {slotContract{}, togetherRecord{}, foundSlotRecord{}},
		"trace":      {traceRecord{}, shaRecord{}},
		"lint":       {findingRecord{}},
		"enqueue":    {enqueueContract{}},
		"gate":       {gateContract{}},
		"fence":      {fenceRecord{}},
		"doctor":     {checkContract{}},
		"audit":      {auditFinding{}, auditQueue{}, auditServer{}},
		"browse":     {browseContract{}},
		"version":    {versionRecord{}},
		"self-check": {selfCheckRecord{}},
	}
}

// TestSchemas makes the JSON Schema of every command's records from their
// contract structs, compares it with docs/schema, and validates every golden
// record against it.
func TestSchemas(t *testing.T) {
	for command, records := range schemas() {
		schema := map[string]any{
			"$schema": "https://json-schema.org/draft/2020-12/schema",
			"title":   "A record of emqctl " + command + " -o json",
		}
		var forms []any
		for _, r := range records {
			forms = append(forms, schemaOf(reflect.TypeOf(r)))
		}
		if len(forms) == 1 {
			for k, v := range forms[0].(map[string]any) {
				schema[k] = v
			}
		} else {
			schema["anyOf"] = forms
		}
		text, err := json.MarshalIndent(schema, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("..", "..", "docs", "schema", command+".json")
		if *update {
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, append(text, '\n'), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(text)+"\n", string(file)); diff != "" {
			t.Errorf("%s is not what the record says (-record +file):\n%s", path, diff)
		}
		validateGoldens(t, command, path)
	}
	entries, err := os.ReadDir(filepath.Join("..", "..", "docs", "schema"))
	if err != nil || len(entries) != len(schemas()) {
		t.Errorf("%d schemas lie there, want %d (%v)", len(entries), len(schemas()), err)
	}
}

func validateGoldens(t *testing.T, command, path string) {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile(path)
	if err != nil {
		t.Fatal(err)
	}
	goldens, err := filepath.Glob(filepath.Join("..", "..", "testdata", "golden", command, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	live := []string{"version", "fence", "doctor", "browse", "audit"} // see liveRun
	if len(goldens) == 0 && !slices.Contains(live, command) {
		t.Errorf("no golden of %s to validate", command)
	}
	for _, name := range goldens {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			doc, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(doc); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			// A schema that lets an unknown field through says too little.
			if o, ok := doc.(map[string]any); ok {
				o["no-such-field"] = true
				if schema.Validate(doc) == nil {
					t.Errorf("%s: the schema takes any field", path)
				}
			}
		}
	}
}

// schemaOf is the JSON Schema of what encoding/json makes of a type.
func schemaOf(t reflect.Type) map[string]any {
	if t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return map[string]any{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		inner := schemaOf(t.Elem())
		if word, ok := inner["type"].(string); ok {
			inner["type"] = []any{word, "null"}
			return inner
		}
		return map[string]any{"anyOf": []any{inner, map[string]any{"type": "null"}}}
	case reflect.Struct:
		properties := map[string]any{}
		required := []any{}
		structFields(t, properties, &required)
		return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
	case reflect.Slice, reflect.Array:
		return map[string]any{"type": "array", "items": schemaOf(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": schemaOf(t.Elem())}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Interface:
		return map[string]any{}
	}
	return map[string]any{"type": "integer"}
}

// structFields gathers the fields of a struct; those of a struct that embeds
// another win over its own. A list that may be null has a tag that says when.
func structFields(t reflect.Type, properties map[string]any, required *[]any) {
	var embedded []reflect.Type
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			embedded = append(embedded, f.Type)
			continue
		case name == "" || name == "-" || properties[name] != nil:
			continue
		}
		schema := schemaOf(f.Type)
		if _, nullable := f.Tag.Lookup("null"); nullable {
			schema = map[string]any{"anyOf": []any{schema, map[string]any{"type": "null"}}}
		}
		properties[name] = schema
		if !strings.Contains(options, "omitempty") {
			*required = append(*required, name)
		}
	}
	for _, e := range embedded {
		structFields(e, properties, required)
	}
}
