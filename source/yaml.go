package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// maxLines bounds a YAML text: the parser's time grows with the square of the lines (100,000 lines of a block text took
// it 28 s, these less than one, measured on two busy cores). JSON has no such bound.
const maxLines = 5000

// readYAML parses a YAML text. Forbidden elements are refused among the tokens, before anything is parsed: a few lines
// of aliases can expand to gigabytes, and a parser that follows deep nesting can exhaust the stack.
func (f *file) readYAML() (n *node, err error) {
	defer func() {
		if r := recover(); r != nil { // of the vendor's lexer or parser, on a text that they don't expect
			n, err = nil, f.fault(place{1, 1}, "it cannot be read as YAML", "compare it with a definition that works")
		}
	}()
	if n := strings.Count(f.data, "\n"); n > maxLines {
		return nil, f.fault(place{maxLines + 1, 1}, fmt.Sprintf("%d lines; a definition in YAML has at most %d", n,
			maxLines), "write it as JSON")
	}
	tokens := lexer.Tokenize(f.data)
	if err := f.screen(tokens); err != nil {
		return nil, err
	}
	tree, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, f.yamlFault(err)
	}
	var bodies []ast.Node
	for _, d := range tree.Docs {
		if d.Body != nil && d.Body.Type() != ast.CommentType && d.Body.Type() != ast.CommentGroupType {
			bodies = append(bodies, d.Body)
		}
	}
	switch {
	case len(bodies) == 0:
		return nil, f.fault(place{}, "it is empty", "write at least: type: http")
	case len(bodies) > 1:
		return nil, f.fault(startOf(bodies[1]), "a second document",
			"one file defines one task: give it a file of its own")
	}
	return f.fromYAML(bodies[0], 0)
}

// startOf is where a node begins: a mapping's own token may be a colon.
func startOf(n ast.Node) place {
	switch n := n.(type) {
	case *ast.MappingNode:
		if len(n.Values) > 0 && !n.IsFlowStyle {
			return startOf(n.Values[0])
		}
	case *ast.MappingValueNode:
		return placeOf(n.Key.GetToken())
	}
	return placeOf(n.GetToken())
}

func placeOf(t *token.Token) place {
	if t == nil || t.Position == nil {
		return place{1, 1}
	}
	return place{t.Position.Line, t.Position.Column}
}

const quoteIt = "put a text that begins with one of * & ! % @ ` into quotes"

// screen refuses tokens that a definition may not have.
func (f *file) screen(tokens token.Tokens) error {
	depth, entries, line := 0, 0, 0
	for _, t := range tokens {
		at := placeOf(t)
		if at.line != line {
			entries, line = 0, at.line
		}
		switch t.Type {
		case token.AnchorType, token.AliasType:
			return f.fault(at, "anchors and aliases are not allowed", quoteIt)
		case token.MergeKeyType:
			return f.fault(at, "merge keys are not allowed", "write the fields out")
		case token.TagType, token.DirectiveType:
			return f.fault(at, "tags and directives are not allowed", quoteIt)
		case token.MappingKeyType:
			return f.fault(at, "keys with ? are not allowed", "write key: value")
		case token.MappingStartType, token.SequenceStartType:
			depth++
		case token.MappingEndType, token.SequenceEndType:
			depth--
		case token.SequenceEntryType:
			entries++
		}
		if depth+entries > maxDepth {
			return f.fault(at, "it is nested too deep", fmt.Sprintf("at most %d levels", maxDepth))
		}
	}
	return nil
}

// yamlFault says what the parser says, in plainer words where they are known.
func (f *file) yamlFault(err error) error {
	var ye yaml.Error
	if !errors.As(err, &ye) {
		return f.fault(place{1, 1}, err.Error(), "")
	}
	at, message := placeOf(ye.GetToken()), ye.GetMessage()
	hint := ""
	switch {
	case strings.Contains(message, "cannot start any token"):
		message, hint = "a tab in place of spaces", "indent with spaces"
	case strings.Contains(message, "reserved character"):
		hint = quoteIt
	case strings.Contains(message, "non-map value"):
		message, hint = "this is not a field with a value", "write field: value"
	case strings.Contains(message, "mapping value is not allowed"):
		hint = "is a line indented by mistake? put a text with a colon into quotes"
	}
	return f.fault(at, message, hint)
}

// fromYAML turns the parser's tree into ours.
func (f *file) fromYAML(n ast.Node, depth int) (*node, error) {
	at := startOf(n)
	if depth > maxDepth {
		return nil, f.fault(at, "it is nested too deep", fmt.Sprintf("at most %d levels", maxDepth))
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		return f.yamlMapping(at, n.Values, depth)
	case *ast.MappingValueNode:
		return f.yamlMapping(at, []*ast.MappingValueNode{n}, depth)
	case *ast.SequenceNode:
		out := &node{kind: list, place: at}
		for _, v := range n.Values {
			item, err := f.fromYAML(v, depth+1)
			if err != nil {
				return nil, err
			}
			out.items = append(out.items, item)
		}
		return out, nil
	}
	return f.yamlScalar(at, n)
}

func (f *file) yamlMapping(at place, values []*ast.MappingValueNode, depth int) (*node, error) {
	out := &node{kind: mapping, place: at}
	seen := make(map[string]place, len(values))
	for _, v := range values {
		key, where, err := f.yamlKey(v.Key)
		if err != nil {
			return nil, err
		}
		if first, ok := seen[key]; ok {
			return nil, f.twice(key, first, where)
		}
		seen[key] = where
		value, err := f.fromYAML(v.Value, depth+1)
		if err != nil {
			return nil, err
		}
		if value.kind == nothing {
			value.place = where // nothing has no place
		}
		out.pairs = append(out.pairs, pair{key: key, place: where, value: value})
	}
	return out, nil
}

func (f *file) twice(key string, first, again place) error {
	return f.fault(again, fmt.Sprintf("duplicate field %q, first on line %d", key, first.line), "drop one of them")
}

// yamlKey returns the text of a key, and its place.
func (f *file) yamlKey(k ast.MapKeyNode) (string, place, error) {
	at := placeOf(k.GetToken())
	switch k := k.(type) {
	case *ast.StringNode:
		return k.Value, at, nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return strings.TrimSpace(k.GetToken().Value), at, nil
	}
	return "", at, f.fault(at, "this cannot be the name of a field", "put it into quotes if it is meant")
}

func (f *file) yamlScalar(at place, n ast.Node) (*node, error) {
	out := &node{place: at}
	if t := n.GetToken(); t != nil {
		out.raw = strings.TrimSpace(t.Value)
	}
	switch n := n.(type) {
	case *ast.NullNode:
		return &node{place: at}, nil
	case *ast.BoolNode:
		out.kind, out.json = boolean, fmt.Sprint(n.Value)
	case *ast.IntegerNode:
		out.kind, out.json = number, fmt.Sprint(n.Value)
	case *ast.FloatNode:
		return f.decimal(out, fmt.Sprint(n.Value))
	case *ast.LiteralNode:
		out.kind, out.raw = text, n.Value.Value
	case *ast.StringNode:
		out.kind, out.raw = text, n.Value
		if plainNumber(n) {
			return f.decimal(out, n.Value)
		}
	case *ast.InfinityNode, *ast.NanNode:
		return nil, f.fault(at, "infinity and NaN are not allowed", "put it into quotes if it is a text")
	default:
		return nil, f.fault(at, "this is not allowed in a definition", "")
	}
	return out, nil
}

// plainNumber recognizes numbers without quotes that the parser takes for texts: whole ones beyond 64 bits, and 1e3.
func plainNumber(n *ast.StringNode) bool {
	return n.Token != nil && n.Token.Type == token.StringType && n.Value != "" &&
		strings.IndexByte("-0123456789", n.Value[0]) >= 0 &&
		json.Valid([]byte(n.Value))
}
