package source

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/work"
)

// config encodes the config of the task's type.
func (d *decoder) config(def *work.Definition, config *node) {
	if config == nil {
		return
	}
	if n := config.octal(); n != nil {
		message, hint := octalFault(n)
		d.fail(n.place, "config: "+message, hint)
		return
	}
	def.Config = config.encode()
	if len(def.Config) > cluster.MaxDefinition {
		d.fail(d.find("config"), fmt.Sprintf("config: %d bytes, at most %d are allowed", len(def.Config),
			cluster.MaxDefinition), "")
	}
}

func octalFault(n *node) (message, hint string) {
	return fmt.Sprintf("the number %.40s begins with a zero", n.raw), "write 0o17 for octal, or put a text into quotes"
}

// octal finds a number such as 010, which old YAML reads as eight and new YAML as ten.
func (n *node) octal() *node {
	digits := strings.TrimLeft(n.raw, "+-")
	if n.kind == number && len(digits) > 1 && digits[0] == '0' && strings.Trim(digits, "0123456789_") == "" {
		return n
	}
	for _, item := range n.items {
		if found := item.octal(); found != nil {
			return found
		}
	}
	for _, p := range n.pairs {
		if found := p.value.octal(); found != nil {
			return found
		}
	}
	return nil
}

// check asks the task's type what it thinks of the definition.
func (d *decoder) check(def work.Definition, kind work.Type) {
	err := ask(def, kind)
	if err == nil {
		return
	}
	faults := configErrors(err)
	for _, ce := range faults {
		message := fmt.Sprint(ce.Err)
		if name, ok := strings.CutPrefix(message, `json: unknown field "`); ok {
			d.failUnknown(ce.Path, strings.TrimSuffix(name, `"`))
			continue
		}
		d.fail(d.valueAt(ce.Path, message), ce.Path+": "+message, ce.Hint)
	}
	if len(faults) == 0 {
		d.fail(d.find("config"), "config: "+err.Error(), "")
	}
}

// ask calls the type's own code. One that panics must not keep the other files from being read.
func ask(def work.Definition, kind work.Type) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the check of type %s panicked: %v", kind.Name, r)
		}
	}()
	_, err = kind.New(def)
	return err
}

// configErrors are all errors about fields in err, which may be joined.
func configErrors(err error) []*work.ConfigError {
	var ce *work.ConfigError
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var out []*work.ConfigError
		for _, e := range many.Unwrap() {
			out = append(out, configErrors(e)...)
		}
		return out
	}
	if errors.As(err, &ce) {
		return []*work.ConfigError{ce}
	}
	return nil
}

// valueAt returns the value at a path, if the fault is in the value and the file contains it; else its key.
func (d *decoder) valueAt(path, message string) place {
	n, rest := d.root, path
	for rest != "" {
		key, value, _, ok := n.step(rest)
		if !ok {
			return d.find(path)
		}
		n = value
		rest = strings.TrimPrefix(rest[len(key):], ".")
	}
	scalar := n.kind == text || n.kind == number || n.kind == boolean
	if !scalar || strings.HasPrefix(message, "unknown field") {
		return d.find(path)
	}
	return n.place
}

// failUnknown finds the place of a field that encoding/json reported as unknown without a place.
func (d *decoder) failUnknown(path, name string) {
	at := d.find(path)
	if p, ok := d.root.get("config"); ok {
		if found, ok := p.value.deepKey(name); ok {
			at = found
		}
	}
	d.fail(at, fmt.Sprintf("%s: unknown field %q", path, name), "")
}

func (n *node) deepKey(name string) (place, bool) {
	if p, ok := n.get(name); ok {
		return p.place, true
	}
	for _, p := range n.pairs {
		if at, ok := p.value.deepKey(name); ok {
			return at, true
		}
	}
	for _, item := range n.items {
		if at, ok := item.deepKey(name); ok {
			return at, true
		}
	}
	return place{}, false
}
