package main

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
)

// --format is a Go text/template over the JSON record, by the record's own
// field names: {{.key}} {{.id.time}}. What is null prints nothing and is
// false to {{if}}, and so are the fields of an object that is null.

// null stands for a null value in a template.
type null string

// parseFormat parses a template and holds its fields to the contract, so that
// a misspelt one is refused before anything is read.
func parseFormat(text string, contract any) (*template.Template, error) {
	t, err := template.New("--format").Option("missingkey=zero").Funcs(template.FuncMap{"json": toJSON}).Parse(text)
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

func toJSON(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}

func executeFormat(t *template.Template, w io.Writer, r record) error {
	var v any
	dec := json.NewDecoder(strings.NewReader(string(r.appendJSON(nil))))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return err
	}
	if err := t.Execute(w, forTemplate(v, reflect.TypeOf(r.contract()))); err != nil {
		return &usageError{msg: strings.TrimPrefix(err.Error(), "template: ")}
	}
	return nil
}

// forTemplate replaces the nulls of a JSON value by values that a template
// can look into.
func forTemplate(v any, t reflect.Type) any {
	if t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch v := v.(type) {
	case nil:
		if t != nil && t.Kind() == reflect.Struct {
			return map[string]null(nil)
		}
		return null("")
	case []any:
		for i := range v {
			v[i] = forTemplate(v[i], elem(t))
		}
	case map[string]any:
		for name, value := range v {
			v[name] = forTemplate(value, field(t, name))
		}
		if t != nil && t.Kind() == reflect.Struct {
			for _, name := range fields(t) {
				if _, ok := v[name]; !ok {
					v[name] = null("")
				}
			}
		}
	}
	return v
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
