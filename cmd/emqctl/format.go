package main

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
	"unicode/utf8"

	"github.com/echomq/emqctl/internal/escape"
)

// --format is a Go text/template over the JSON record, by the record's own
// field names: {{.key}} {{.id.time}}. What is null prints nothing, is false to
// {{if}}, equals nothing, and so do the fields of what is null. Bytes from
// outside print escaped, as in text; raw gives them as they are.

// null stands for a null value, at any depth: a field of one is one.
type null map[string]null

func (null) String() string               { return "" }
func (null) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

// absent stands for a field that this record leaves out.
var absent = null{"": nil}

// foreign is the bytes of a field that may hold any.
type foreign string

func (f foreign) String() string { return escape.String(string(f)) }

// MarshalJSON returns null for what is not UTF-8, as the record does.
func (f foreign) MarshalJSON() ([]byte, error) {
	if !utf8.ValidString(string(f)) {
		return []byte("null"), nil
	}
	return appendJSONString(nil, string(f)), nil
}

// object is a JSON object; what is absent is left out when it is shown as JSON.
type object map[string]any

func (o object) MarshalJSON() ([]byte, error) {
	shown := map[string]any{}
	for name, v := range o {
		if n, ok := v.(null); !ok || n == nil {
			shown[name] = v
		}
	}
	return json.Marshal(shown)
}

// formatFuncs are the functions of templates that differ from text/template's
// or are ours. Comparisons take null, and numbers of any kind.
var formatFuncs = template.FuncMap{
	"json": func(v any) (string, error) {
		b, err := json.Marshal(v)
		return string(b), err
	},
	"raw": func(v any) any {
		if f, ok := v.(foreign); ok {
			return string(f)
		}
		return v
	},
	"eq": func(a any, bs ...any) (bool, error) {
		for _, b := range bs {
			if c, ok, err := compare(a, b); err != nil || ok && c == 0 {
				return ok, err
			}
		}
		return false, nil
	},
	"ne": func(a, b any) (bool, error) { c, ok, err := compare(a, b); return !ok || c != 0, err },
	"lt": func(a, b any) (bool, error) { c, ok, err := compare(a, b); return ok && c < 0, err },
	"le": func(a, b any) (bool, error) { c, ok, err := compare(a, b); return ok && c <= 0, err },
	"gt": func(a, b any) (bool, error) { c, ok, err := compare(a, b); return ok && c > 0, err },
	"ge": func(a, b any) (bool, error) { c, ok, err := compare(a, b); return ok && c >= 0, err },
}

// compare orders two values of one kind; null compares with nothing.
func compare(a, b any) (order int, ok bool, err error) {
	if _, isNull := a.(null); isNull {
		return 0, false, nil
	}
	if _, isNull := b.(null); isNull {
		return 0, false, nil
	}
	va, vb := reflect.ValueOf(a), reflect.ValueOf(b)
	switch {
	case va.Kind() == reflect.String && vb.Kind() == reflect.String:
		return strings.Compare(va.String(), vb.String()), true, nil
	case va.Kind() == reflect.Bool && vb.Kind() == reflect.Bool:
		return cmp.Compare(btoi(va.Bool()), btoi(vb.Bool())), true, nil
	case va.CanInt() && vb.CanInt():
		return cmp.Compare(va.Int(), vb.Int()), true, nil
	case (va.CanInt() || va.CanFloat()) && (vb.CanInt() || vb.CanFloat()):
		return cmp.Compare(toFloat(va), toFloat(vb)), true, nil
	}
	return 0, false, fmt.Errorf("cannot compare %s and %s", kindWord(va), kindWord(vb))
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func toFloat(v reflect.Value) float64 {
	if v.CanInt() {
		return float64(v.Int())
	}
	return v.Float()
}

func kindWord(v reflect.Value) string {
	switch {
	case v.CanInt() || v.CanFloat():
		return "a number"
	case v.Kind() == reflect.String:
		return "a string"
	case v.Kind() == reflect.Bool:
		return "true or false"
	}
	return "an object or a list"
}

// parseFormat parses a template and holds its fields to the contract, so that
// a misspelt one is refused before anything is read.
func parseFormat(text string, contract any) (*template.Template, error) {
	t, err := template.New("--format").Option("missingkey=zero").Funcs(formatFuncs).Parse(text)
	if err != nil {
		return nil, &usageError{msg: strings.TrimPrefix(err.Error(), "template: "), hint: "--format takes a Go text/template over the JSON record"}
	}
	c := fieldChecker{root: reflect.TypeOf(contract), vars: map[string]reflect.Type{}}
	c.vars["$"] = c.root
	if err := c.walk(t.Root, c.root); err != nil {
		return nil, err
	}
	return t, nil
}

func executeFormat(t *template.Template, w io.Writer, r record) error {
	var v any
	dec := json.NewDecoder(bytes.NewReader(r.appendJSON(nil)))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return err
	}
	if err := t.Execute(w, forTemplate(v, reflect.TypeOf(r.contract()))); err != nil {
		return &usageError{msg: strings.TrimPrefix(err.Error(), "template: ")}
	}
	return nil
}

// forTemplate turns a JSON value into what templates work with.
func forTemplate(v any, t reflect.Type) any {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch v := v.(type) {
	case nil:
		return null(nil)
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		n, _ := v.Float64()
		return n
	case []any:
		for i := range v {
			v[i] = forTemplate(v[i], elem(t))
		}
	case map[string]any:
		o := object{}
		for name, value := range v {
			o[name] = forTemplate(value, field(t, name))
		}
		if t != nil && t.Kind() == reflect.Struct {
			o.complete(fields(t))
		}
		return o
	}
	return v
}

// complete adds the fields that a record leaves out, and gives a field that
// has a _base64 beside it its bytes.
func (o object) complete(names []string) {
	for _, name := range names {
		if _, ok := o[name]; !ok {
			o[name] = absent
		}
	}
	for _, name := range names {
		plain, ok := strings.CutSuffix(name, "_base64")
		if !ok {
			continue
		}
		if list, ok := o[plain].([]any); ok {
			completeList(list, o[name])
		} else if s, ok := o[plain].(string); ok {
			o[plain] = foreign(s)
		} else if b64, ok := o[name].(string); ok {
			b, _ := base64.StdEncoding.DecodeString(b64)
			o[plain] = foreign(b)
		}
	}
}

// completeList is complete for a list of bytes and the list beside it.
func completeList(list []any, beside any) {
	b64s, _ := beside.([]any)
	for i := range list {
		if s, ok := list[i].(string); ok {
			list[i] = foreign(s)
		} else if i < len(b64s) {
			if b64, ok := b64s[i].(string); ok {
				b, _ := base64.StdEncoding.DecodeString(b64)
				list[i] = foreign(b)
			}
		}
	}
}

func elem(t reflect.Type) reflect.Type {
	if t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Map) {
		return t.Elem()
	}
	return nil
}

// field returns the type of a JSON field of a struct type, or nil.
func field(t reflect.Type, name string) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	for i := range t.NumField() {
		f := t.Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && tag == "" {
			if found := field(f.Type, name); found != nil {
				return found
			}
		} else if tag == name {
			return f.Type
		}
	}
	return nil
}

// fields returns the JSON field names of a struct type, in order.
func fields(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		f := t.Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && tag == "":
			names = append(names, fields(f.Type)...)
		case tag != "" && tag != "-":
			names = append(names, tag)
		}
	}
	return names
}

// fieldChecker follows the type of the dot through a template.
type fieldChecker struct {
	root reflect.Type
	vars map[string]reflect.Type
}

// walk checks a node under a dot of type dot; nil is a type not known.
func (c *fieldChecker) walk(n parse.Node, dot reflect.Type) error {
	switch n := n.(type) {
	case nil:
	case *parse.ListNode:
		if n == nil {
			return nil
		}
		for _, sub := range n.Nodes {
			if err := c.walk(sub, dot); err != nil {
				return err
			}
		}
	case *parse.ActionNode:
		_, err := c.pipe(n.Pipe, dot)
		return err
	case *parse.IfNode:
		if _, err := c.pipe(n.Pipe, dot); err != nil {
			return err
		}
		return c.both(n.List, n.ElseList, dot, dot)
	case *parse.WithNode:
		inner, err := c.pipe(n.Pipe, dot)
		if err != nil {
			return err
		}
		return c.both(n.List, n.ElseList, inner, dot)
	case *parse.RangeNode:
		over, err := c.pipe(n.Pipe, dot)
		if err != nil {
			return err
		}
		if len(n.Pipe.Decl) > 0 {
			c.vars[n.Pipe.Decl[len(n.Pipe.Decl)-1].Ident[0]] = elem(over)
		}
		return c.both(n.List, n.ElseList, elem(over), dot)
	case *parse.TemplateNode:
		_, err := c.pipe(n.Pipe, dot)
		return err
	}
	return nil
}

func (c *fieldChecker) both(list, elseList *parse.ListNode, dot, elseDot reflect.Type) error {
	if err := c.walk(list, dot); err != nil {
		return err
	}
	return c.walk(elseList, elseDot)
}

// pipe checks a pipeline and returns its type, nil when that is not known.
func (c *fieldChecker) pipe(p *parse.PipeNode, dot reflect.Type) (reflect.Type, error) {
	if p == nil {
		return nil, nil
	}
	var t reflect.Type
	for _, cmd := range p.Cmds {
		for i, arg := range cmd.Args {
			at, err := c.arg(arg, dot)
			if err != nil {
				return nil, err
			}
			if i == 0 {
				t = at
			}
		}
		if len(cmd.Args) > 1 {
			t = nil
		}
	}
	for _, v := range p.Decl {
		c.vars[v.Ident[0]] = t
	}
	return t, nil
}

func (c *fieldChecker) arg(n parse.Node, dot reflect.Type) (reflect.Type, error) {
	switch n := n.(type) {
	case *parse.DotNode:
		return dot, nil
	case *parse.FieldNode:
		return c.chain(dot, n.Ident)
	case *parse.VariableNode:
		return c.chain(c.vars[n.Ident[0]], n.Ident[1:])
	case *parse.PipeNode:
		return c.pipe(n, dot)
	case *parse.ChainNode:
		t, err := c.arg(n.Node, dot)
		if err != nil {
			return nil, err
		}
		return c.chain(t, n.Field)
	}
	return nil, nil
}

func (c *fieldChecker) chain(t reflect.Type, names []string) (reflect.Type, error) {
	for _, name := range names {
		for t != nil && t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t == nil || t.Kind() == reflect.Interface || t.Kind() == reflect.Map {
			return nil, nil
		}
		next := field(t, name)
		if next == nil {
			e := &usageError{msg: fmt.Sprintf("--format: the record has no field .%s", name)}
			if t.Kind() == reflect.Struct {
				names := fields(t)
				slices.Sort(names)
				e.hint = "its fields are " + strings.Join(names, ", ")
			}
			return nil, e
		}
		t = next
	}
	return t, nil
}
