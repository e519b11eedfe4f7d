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

	"github.com/echomq/emqctl/internal/valkeytest"
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

// hostile are operands that no schema should meet for the first time in
// somebody's pipe.
var hostile = []string{
	"", "-x", "\xff", "\xc3", "\x00", "\x1b[2J", "\u2028\u202e", "q\xff", "JOB\xff", "JOB0KHTOWnGLu\xff", "JOB0KHTOWnGLuC", "emq:{\xff}:pending",
	"emq:{q}:job:JOB\xff", "emq:{q}:job:JOB0KHTOWnGLuC:\xff", "emq:{q}:g:\xff:pending", "\xff{\xfe}\xfd", "{emq}:migration:\xff", "emq:\xff", "9223372036854775808",
	"return redis.call('GET', '\xff' .. KEYS[1])", "return 1", "return \xff", "return (", "JOB",
}

// hostileRuns are invocations for one hostile operand; their standard input is
// the operand, ended by a NUL where they take items.
func hostileRuns(s string) [][]string {
	runs := [][]string{
		{"decode-key", "-0"}, {"decode-key", "--extract"}, {"decode-id", "-0"}, {"decode-id", "--extract"},
		{"slot", "-0"}, {"slot", "-0", "--together"}, {"gate", "-0"}, {"encode-id", "JOB", "-0"}, {"encode-id", s, "1"},
		{"mint-id", s}, {"id-range", s, "--from", "1h"}, {"encode-key", s, "pending"}, {"encode-key", "q", "job", s},
		{"encode-key", "q", "lane", s}, {"encode-key", "q", "stream", s}, {"encode-key", "emq", "migration", s}, {"decode-id", "--namespace", s, "JOB0KHTOWnGLuC"},
		{"trace", "--file", "-"}, {"trace", "enqueue", "--queue", s}, {"trace", "enqueue", "--id", s}, {"trace", "enqueue", "--arg", "payload=" + s},
		{"trace", s}, {"lint", "-"}, {"lint", s}, {"slot", "--find", "1", "--prefix", s},
	}
	for _, more := range [][]string{{}, {"--via", "native"}, {"--in", "1s"}, {"--group", s}, {"--group", "PRT0KHTOWnGLuC"}, {"--id", s}, {"--id", "JOB\xff", "--no-host-gate"}, {"--id", s, "--no-host-gate", "--via", "native"}, {"--fence", s}} {
		for _, queue := range []string{s, "q"} {
			runs = append(runs, append([]string{"enqueue", "--rehearse", queue, s}, more...))
		}
	}
	return append(runs, []string{"enqueue", "--rehearse", "q", "--ndjson"}, []string{"enqueue", "--rehearse", "q", "--lines"}, []string{"enqueue", "--rehearse", "q", "-"})
}

// validateRecords holds the lines of an answer to a schema, and to the rule
// that bytes are never replaced.
func validateRecords(t *testing.T, schema *jsonschema.Schema, args []string, out string) (records int) {
	t.Helper()
	for line := range strings.Lines(out) {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
		if err != nil {
			t.Errorf("%q: %v in %q", args, err, line)
			continue
		}
		if err := schema.Validate(doc); err != nil {
			t.Errorf("%q: %v in %q", args, err, line)
		}
		// A trace spells what a script says: there such bytes are replaced.
		if args[0] != "trace" && (strings.Contains(line, "\ufffd") || strings.Contains(line, `\ufffd`)) {
			t.Errorf("%q: bytes were replaced in %q", args, line)
		}
		records++
	}
	return records
}

// TestHostileRecords holds the records of any bytes, in every operand of every
// command, to the schemas.
func TestHostileRecords(t *testing.T) {
	records := map[string]int{}
	compiled := map[string]*jsonschema.Schema{}
	for command := range schemas() {
		schema, err := jsonschema.NewCompiler().Compile(filepath.Join("..", "..", "docs", "schema", command+".json"))
		if err != nil {
			t.Fatal(err)
		}
		compiled[command] = schema
	}
	try := func(args []string, in string) {
		t.Helper()
		out, errw, code := runAt(testClock, append(args, "-o", "json"), strings.NewReader(in), nil)
		if code == codeFailed && out == "" && errw == "" {
			t.Errorf("%q: neither a record nor a word", args)
		}
		if strings.Contains(errw, "unknown flag") {
			t.Errorf("%q: %s", args, errw)
		}
		records[args[0]] += validateRecords(t, compiled[args[0]], args, out)
	}
	for _, s := range hostile {
		for _, args := range hostileRuns(s) {
			try(args, s)
		}
	}
	long := strings.Repeat("\xff", maxLine+1)
	for _, command := range []string{"decode-key", "decode-id", "slot", "gate"} {
		try([]string{command}, long)
	}
	try([]string{"encode-id", "JOB"}, long)
	// Every verb, and scripts without a header.
	verbs, err := filepath.Glob(filepath.Join("..", "..", "scripts", "*.lua"))
	if err != nil || len(verbs) == 0 {
		t.Fatalf("%d scripts, %v", len(verbs), err)
	}
	for _, path := range verbs {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, body, _ := strings.Cut(string(text), "\n\n")
		for _, in := range []string{string(text), body} {
			try([]string{"trace", "--file", "-"}, in)
			try([]string{"lint", "-"}, in)
		}
	}
	try([]string{"trace", "--list"}, "")
	try([]string{"version"}, "")
	for command := range schemas() {
		live := []string{"fence", "doctor", "browse", "audit", "self-check"} // see TestHostileServer
		if records[command] == 0 && !slices.Contains(live, command) {
			t.Errorf("no record of %s", command)
		}
	}
}

// TestHostileServer is TestHostileRecords for what is read from a server.
func TestHostileServer(t *testing.T) {
	s := valkeytest.Start(t)
	must(t, s.Client(), "HSET emq:{q%ff}:job:JOB%ff state %ff attempts %ff payload %ff group %ff parent %ff parent_queue %ff parent_policy %ff last_error %ff %ff %ff",
		"HSET emq:{q%ff}:job:JOB0KHTOWnGLuC state %ff attempts %ff payload %ff group %ff parent %ff parent_queue %ff parent_policy %ff last_error %ff %ff %ff",
		"ZADD emq:{q%ff}:pending 0 JOB%ff 0 JOB0KHTOWnGLuC", "ZADD emq:{q%ff}:g:%ff:pending 0 JOB%ff inf %0", "SADD emq:{q%ff}:paused %ff", "RPUSH emq:{q%ff}:ring %ff",
		"HSET emq:{q%ff}:glimit %ff %ff", "HSET emq:{q%ff}:gactive %ff %ff", "HSET emq:{q%ff}:gweight %ff %ff", "RPUSH emq:{q%ff}:flow:outbox %ff %ff%0%ff%0%ff%0%ff",
		"XADD emq:{q%ff}:stream:%ff 1-1 %ff %ff", "SET emq:{q%ff}:de:%ff %ff", "HSET emq:{q%ff}:job:JOB0KHTOWnGLuC:processed %ff %ff", "SET emq:{q%ff}:dead %ff", "SET {emq}:version %ff")
	keys, err := valkeytest.Do(s.Client(), "KEYS", "*").AsStrSlice()
	if err != nil {
		t.Fatal(err)
	}
	u := "--url=" + s.Addr
	for _, args := range [][]string{
		append([]string{"decode-key", u}, keys...), {"decode-key", u, "", "\xff", "emq:{\xff}:pending"},
		{"browse", u, "q\xff"}, {"browse", u, "q\xff", "--set", "lane", "--group", "\xff"}, {"browse", u, "q\xff", "--set", "dead"}, {"browse", u, "none"},
		{"fence", u}, {"fence", u, "--fence", "\xfe"}, {"fence", u, "--fence", "\xff"}, {"doctor", u}, {"doctor", u, "--queue", "q\xff"}, {"audit", u}, {"audit", u, "q\xff"},
		{"enqueue", u, "q\xff", "\xff"}, {"enqueue", u, "q\xff", "\xff", "--id", "JOB\xff", "--no-host-gate"}, {"enqueue", u, "q", "x", "--fence", "\xfe"}, {"enqueue", u, "q", "x", "--fence", "\xff"},
	} {
		_, out, _, _ := liveRun(t, nil, args...)
		if strings.Contains(out, "\ufffd") || strings.Contains(out, `\ufffd`) {
			t.Errorf("%q: bytes were replaced in %q", args, out)
		}
	}
}
