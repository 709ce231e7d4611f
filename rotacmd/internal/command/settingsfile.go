package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// setFromFile takes scalars, lists of scalars, and mappings as lists of k=v.
func setFromFile(f *pflag.Flag, v any) error {
	_, list := f.Value.(pflag.SliceValue)
	pairs := f.Value.Type() == "stringToString"
	switch v := v.(type) {
	case []any:
		if !list && !pairs {
			return errors.New("a list, want one value")
		}
		for _, x := range v {
			if err := setOne(f, "", x); err != nil {
				return err
			}
		}
		return nil
	case map[string]any:
		if !list && !pairs {
			return errors.New("a mapping, want one value")
		}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if err := setOne(f, k+"=", v[k]); err != nil {
				return err
			}
		}
		return nil
	case nil:
		return nil
	}
	return setOne(f, "", v)
}

// setOne sets a flag to a scalar behind its key, if it has one.
func setOne(f *pflag.Flag, key string, v any) error {
	switch v.(type) {
	case nil:
		v = "nothing"
	case []any:
		v = "a list"
	case map[string]any:
		v = "a mapping"
	default:
		return f.Value.Set(key + fmt.Sprint(v))
	}
	return fmt.Errorf("%s%v, want a text", key, v)
}

// readFile reads the file of settings; none is fine unless one was named.
func readFile(e env, cmd *cobra.Command) (map[string]any, string, error) {
	path, named := defaultFile, false
	if f := cmd.Flags().Lookup("config"); f != nil && f.Changed {
		path, named = f.Value.String(), true
	} else if p := e.getenv("ROTA_CONFIG"); p != "" {
		path, named = p, true
	}
	b, err := os.ReadFile(path)
	if os.IsNotExist(err) && !named {
		return nil, path, nil
	}
	if err != nil {
		return nil, path, misused("another --config", "read settings: %w", err)
	}
	settings := map[string]any{}
	b = bytes.TrimPrefix(b, []byte("\ufeff"))
	d := yaml.NewDecoder(bytes.NewReader(b))
	if err := d.Decode(&settings); err != nil && !errors.Is(err, io.EOF) {
		return nil, path, misused("mend "+path, "%s: %s", path, firstLine(yaml.FormatError(err, false, false)))
	}
	if err := d.Decode(new(any)); !errors.Is(err, io.EOF) {
		return nil, path, misused("put all settings into the first document", "%s: a second document", path)
	}
	if file, err := parser.ParseBytes(b, 0); err == nil && len(file.Docs) > 0 { // it was decoded: it has no error
		asWritten(file.Docs[0].Body, settings)
	}
	return settings, path, nil
}

// asWritten is a value with its numbers as the file has them: 007 is no 7, and 1.10 no 1.1, where a text is wanted. The
// file of settings is to say of a name what a task file says.
func asWritten(n ast.Node, v any) any {
	switch n := n.(type) {
	case *ast.AnchorNode:
		return asWritten(n.Value, v)
	case *ast.TagNode:
		return asWritten(n.Value, v)
	case *ast.MappingNode:
		m, _ := v.(map[string]any)
		for _, pair := range n.Values {
			key := pair.Key.GetToken().Value
			if has, ok := m[key]; ok {
				m[key] = asWritten(pair.Value, has)
			}
		}
	case *ast.SequenceNode:
		l, ok := v.([]any)
		for i := range n.Values {
			if ok && i < len(l) {
				l[i] = asWritten(n.Values[i], l[i])
			}
		}
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value
	}
	return v
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
