package tasks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/ext"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/rota-run/rota/internal/work/stage"
	"github.com/rota-run/rota/work"
)

// The bounds of an expression: its length, and the cost of one evaluation. CEL has only loops over the segment's own
// lists, and counts their steps and the size of the result.
const (
	longestExpression = 4096
	expressionCost    = 1_000_000
	interruptAfter    = 1000
)

// expressionConfig of map and filter.
type expressionConfig struct {
	Expr string `json:"expr"` // in CEL; the segment is "it"
	Each bool   `json:"each"` // map: the expression returns a list whose elements are the new segments
}

func mapSegments() work.Type {
	return expressionType("map", "makes of each segment what an expression says",
		func(e *expression, c expressionConfig) func(any, []byte, *stage.Out) error {
			return func(it any, _ []byte, out *stage.Out) error { return e.mapped(it, c.Each, out) }
		})
}

func filterSegments() work.Type {
	return expressionType("filter", "hands on the segments for which an expression is true",
		func(e *expression, _ expressionConfig) func(any, []byte, *stage.Out) error {
			return e.filtered
		})
}

func expressionType(name, doc string, apply func(*expression, expressionConfig) func(it any, raw []byte,
	out *stage.Out) error) work.Type {
	return work.Type{Name: name, Doc: doc, Segments: &work.Segments{In: work.AnySegments, Out: work.AnySegments},
		New: typed(func(c expressionConfig, _ work.Definition, f *faults) work.Runner {
			if c.Each && name != "map" {
				f.add("each", "drop it", "it is for map")
			}
			e := newExpression("expr", "it.name.lowerAscii()", c.Expr, f)
			if name == "filter" {
				e.gives("expr", "a filter needs true or false, such as it.size > 10", f, cel.BoolType)
			}
			one := apply(e, c)
			return stage.Stage{Do: func(ctx context.Context, _ *work.Grant, in [][]byte, out *stage.Out) error {
				for _, raw := range in {
					if ctx.Err() != nil {
						return context.Cause(ctx)
					}
					it, err := decodeSegment(raw)
					if err == nil {
						err = one(it, raw, out)
					}
					if err != nil {
						return err
					}
				}
				return nil
			}}
		})}
}

// expression is a compiled expression.
type expression struct {
	program cel.Program
	kind    *cel.Type
}

// newExpression compiles the expression in a field; an example of one is a hint. Places of faults are lines and columns
// of the expression.
func newExpression(field, example, text string, f *faults) *expression {
	switch {
	case strings.TrimSpace(text) == "":
		f.add(field, "such as "+example, "missing")
		return nil
	case len(text) > longestExpression:
		f.add(field, "", "%d bytes, at most %d are allowed", len(text), longestExpression)
		return nil
	}
	env, err := cel.NewEnv(cel.Variable("it", cel.DynType), ext.Strings(), ext.Math(), ext.Lists(), ext.Encoders())
	if err != nil {
		f.add(field, "", "%w", err)
		return nil
	}
	checkedAST, issues := env.Compile(text)
	if issues.Err() != nil {
		for _, e := range issues.Errors() {
			f.add(field, "the language is CEL, and the segment is it", "line %d, column %d of the expression: %s",
				e.Location.Line(), e.Location.Column()+1, plain(e.Message))
		}
		return nil
	}
	program, err := env.Program(checkedAST, cel.CostLimit(expressionCost), cel.InterruptCheckFrequency(interruptAfter))
	if err != nil {
		f.add(field, "", "%w", err)
		return nil
	}
	return &expression{program, checkedAST.OutputType()}
}

// gives refuses an expression whose type is known, and not one of these.
func (e *expression) gives(field, wants string, f *faults, kinds ...*cel.Type) {
	if e != nil && !slices.ContainsFunc(append(kinds, cel.DynType), e.kind.IsExactType) {
		f.add(field, "", "it gives %s, and %s", e.kind, wants)
	}
}

func (e *expression) eval(it any) (ref.Val, error) {
	out, _, err := e.program.Eval(map[string]any{"it": it})
	if err != nil {
		return nil, fmt.Errorf("expression: %s", plain(err.Error()))
	}
	return out, nil
}

func (e *expression) filtered(it any, raw []byte, out *stage.Out) error {
	v, err := e.eval(it)
	if err != nil {
		return err
	}
	yes, ok := v.(types.Bool)
	if !ok {
		return fmt.Errorf("the expression gives %s, and a filter needs true or false", v.Type().TypeName())
	}
	if !yes {
		return nil
	}
	return out.Send(raw, nil)
}

func (e *expression) mapped(it any, each bool, out *stage.Out) error {
	v, err := e.eval(it)
	if err != nil {
		return err
	}
	native, err := v.ConvertToNative(reflect.TypeFor[*structpb.Value]())
	if err != nil {
		return fmt.Errorf("the expression gives %s, which is no JSON: %w", v.Type().TypeName(), err)
	}
	value, ok := native.(*structpb.Value)
	if !ok {
		return errors.New("the expression gives no JSON")
	}
	all := []any{value.AsInterface()}
	if each {
		if all, ok = all[0].([]any); !ok {
			return fmt.Errorf("the expression gives %s, and each needs a list", v.Type().TypeName())
		}
	}
	for _, one := range all {
		data, err := json.Marshal(one)
		if err != nil {
			return err
		}
		if err := out.Send(data, nil); err != nil {
			return err
		}
	}
	return nil
}

// decodeSegment reads JSON; whole numbers stay whole.
func decodeSegment(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("the segment %.60q is no JSON: %w", raw, err)
	}
	return numbers(v), nil
}

func numbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64() // the decoder has seen that it is a number
		return f
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = numbers(v[k])
		}
	}
	return v
}

// decodeAny decodes one JSON value and keeps numbers as they are written.
func decodeAny(b []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return v, nil
}

const (
	jsonValue  = 10 // bytes of the limit that each JSON value takes: small values take much more memory than text
	jsonNumber = 64 // bytes; a longer number is compared as it is written
)

// moreValues reports whether a JSON text may have more than n values. Commas and braces in strings count too.
func moreValues(b []byte, n int) bool {
	for _, c := range b {
		if c == ',' || c == '[' || c == '{' {
			n--
		}
	}
	return n < 0
}

// lookUp follows a path of names and indexes: "a.0.b", or "/a/0/b" with the escapes of JSON pointers (RFC 6901) for
// names with dots.
func lookUp(v any, path string) (any, bool) {
	for _, step := range steps(path) {
		switch at := v.(type) {
		case map[string]any:
			next, ok := at[step]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(at) {
				return nil, false
			}
			v = at[i]
		default:
			return nil, false
		}
	}
	return v, true
}

func steps(path string) []string {
	if !strings.HasPrefix(path, "/") {
		return strings.Split(path, ".")
	}
	out := strings.Split(path[1:], "/")
	for i, s := range out {
		out[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(s)
	}
	return out
}

// sameJSON compares values of decodeAny; 1, 1.0 and 1e0 are the same number.
func sameJSON(a, b any) bool {
	switch x := a.(type) {
	case json.Number:
		y, ok := b.(json.Number)
		return ok && sameNumber(x, y)
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && maps.EqualFunc(x, y, sameJSON)
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, sameJSON)
	}
	return a == b
}

// sameNumber compares whole numbers exactly, very long ones as text and others as floats.
func sameNumber(a, b json.Number) bool {
	if len(a) > jsonNumber || len(b) > jsonNumber {
		return a == b
	}
	i, err1 := a.Int64()
	j, err2 := b.Int64()
	if err1 == nil && err2 == nil {
		return i == j
	}
	x, err1 := a.Float64()
	y, err2 := b.Float64()
	return a == b || err1 == nil && err2 == nil && x == y
}
