package source

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/work"
)

// MaxFile bounds a definition, in bytes.
const MaxFile = 1 << 20

// Extension tells whether files with this ending are definitions.
func Extension(file string) bool {
	switch strings.ToLower(path.Ext(file)) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// ID is the job that a file defines: its name without the extension.
func ID(file string) cluster.JobID {
	base := path.Base(file)
	return cluster.JobID(strings.TrimSuffix(base, path.Ext(base)))
}

// Parse reads a definition in YAML or JSON (which is YAML), checks it with the member's task types, and returns its job. The error is a *MalformedError.
// Equal content gives an equal spec, whatever its layout.
func Parse(file string, data []byte, types work.Types) (cluster.JobID, cluster.JobSpec, error) {
	f := &definition{file: file, data: data, types: types}
	id := ID(file)
	if err := cluster.CheckName(string(id)); err != nil {
		return id, cluster.JobSpec{}, f.fault(nil, "the file's name cannot be the id of a task: "+err.Error(), "rename the file")
	}
	if strings.HasPrefix(string(id), "rota.") {
		return id, cluster.JobSpec{}, f.fault(nil, `names that begin with "rota." are reserved`, "rename the file")
	}
	task, err := f.parse()
	if err != nil {
		return id, cluster.JobSpec{}, err
	}
	spec := cluster.JobSpec{Tasks: []cluster.TaskSpec{task}}
	if err := cluster.CheckCommand(cluster.SubmitJob{Job: id, Spec: spec}); err != nil {
		message := strings.ReplaceAll(strings.SplitN(err.Error(), "\n", 2)[0], "spec.tasks[0]: ", "")
		field, _, _ := strings.Cut(message, ":")
		return id, cluster.JobSpec{}, f.fault(f.at(field), message, "")
	}
	return id, spec, nil
}

// definition is one file being parsed.
type definition struct {
	file  string
	data  []byte
	types work.Types
	root  ast.Node
}

func (f *definition) fault(at *token.Token, message, hint string) error {
	e := &MalformedError{Path: f.file, Message: message, Hint: hint}
	if at != nil && at.Position != nil {
		e.Line, e.Column = at.Position.Line, at.Position.Column
		e.Lines = extract(f.data, e.Line, e.Column)
	}
	return e
}

func (f *definition) parse() (cluster.TaskSpec, error) {
	if len(f.data) > MaxFile {
		return cluster.TaskSpec{}, f.fault(nil, fmt.Sprintf("%d bytes; a definition has at most %d", len(f.data), MaxFile), "")
	}
	if err := f.parseTree(); err != nil {
		return cluster.TaskSpec{}, err
	}
	var fields fields
	if err := yaml.NodeToValue(f.root, &fields, yaml.Strict()); err != nil {
		return cluster.TaskSpec{}, f.yamlFault(err)
	}
	return f.task(&fields)
}

// parseTree parses the text and refuses what a definition may not have.
func (f *definition) parseTree() error {
	doc, err := parser.ParseBytes(f.data, 0)
	if err != nil {
		return f.yamlFault(err)
	}
	var bodies []ast.Node
	for _, d := range doc.Docs {
		if d.Body != nil && d.Body.Type() != ast.CommentType && d.Body.Type() != ast.CommentGroupType {
			bodies = append(bodies, d.Body)
		}
	}
	switch {
	case len(bodies) == 0:
		return f.fault(nil, "it is empty", "write at least: type: http")
	case len(bodies) > 1:
		return f.fault(bodies[1].GetToken(), "a second document", "one file defines one task: give it a file of its own")
	}
	f.root = bodies[0]
	if t := f.root.Type(); t != ast.MappingType && t != ast.MappingValueType {
		return f.fault(f.root.GetToken(), "a definition is a mapping of fields to values", "write at least: type: http")
	}
	return f.refuseReferences()
}

// refuseReferences refuses anchors, aliases, merges and tags: a few lines of them can stand for gigabytes.
func (f *definition) refuseReferences() error {
	v := &referenceVisitor{}
	ast.Walk(v, f.root)
	if v.found != nil {
		return f.fault(v.found.GetToken(), "anchors, aliases, merge keys and tags are not allowed", "write the value out")
	}
	if v.deep {
		return f.fault(f.root.GetToken(), "it is nested too deep", "")
	}
	return nil
}

type referenceVisitor struct {
	found ast.Node
	deep  bool
}

// maxDepth bounds the nesting of a definition.
const maxDepth = 50

// Visit implements ast.Visitor.
func (v *referenceVisitor) Visit(n ast.Node) ast.Visitor {
	switch n.Type() {
	case ast.AnchorType, ast.AliasType, ast.MergeKeyType, ast.TagType:
		if v.found == nil {
			v.found = n
		}
		return nil
	}
	if strings.Count(n.GetPath(), ".")+strings.Count(n.GetPath(), "[") > maxDepth {
		v.deep = true
		return nil
	}
	return v
}

// yamlFault turns the parser's or decoder's error into ours.
func (f *definition) yamlFault(err error) error {
	var unknown *yaml.UnknownFieldError
	if errors.As(err, &unknown) {
		name := strings.Trim(strings.TrimPrefix(unknown.Message, "unknown field "), `"`)
		return f.fault(unknown.Token, fmt.Sprintf("unknown field %q", name), didYouMean(name, fieldNames))
	}
	var ye yaml.Error
	if errors.As(err, &ye) {
		return f.fault(ye.GetToken(), ye.GetMessage(), "")
	}
	return f.fault(nil, err.Error(), "")
}

// at is the place of a dotted path; the nearest place above it that exists.
func (f *definition) at(dotted string) *token.Token {
	for p := dotted; p != ""; {
		if n := f.node(p); n != nil {
			return n.GetToken()
		}
		i := strings.LastIndexAny(p, ".[")
		if i < 0 {
			break
		}
		p = p[:i]
	}
	return f.root.GetToken()
}

func (f *definition) node(dotted string) ast.Node {
	p, err := yaml.PathString("$." + dotted)
	if err != nil {
		return nil
	}
	n, err := p.FilterNode(f.root)
	if err != nil {
		return nil
	}
	return n
}

// didYouMean suggests the nearest known name; "" when none is near.
func didYouMean(name string, known []string) string {
	best, at := 3, ""
	for _, k := range known {
		if d := distance(name, k); d < best {
			best, at = d, k
		}
	}
	if at == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %q?", at)
}

// distance is the number of edits between two short names (Levenshtein 1965).
func distance(a, b string) int {
	prev := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := range len(a) {
		diagonal := prev[0]
		prev[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = prev[j+1]
			prev[j+1] = min(change, prev[j+1]+1, prev[j]+1)
		}
	}
	return prev[len(b)]
}
