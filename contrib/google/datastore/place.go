package datastore

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"google.golang.org/api/option"
)

// Place is where entities are.
type Place struct {
	Project   string
	Namespace string // "" for the default one
	Database  string // "" for the default one
	Kind      string // default: that of the source document
	// Options are for the client, such as credentials; default: those of the environment, or the emulator that DATASTORE_EMULATOR_HOST names.
	Options []option.ClientOption
}

// String is the place as people write it.
func (p Place) String() string {
	s := p.Project
	if p.Namespace != "" {
		s += "/" + p.Namespace
	}
	return s
}

// parse reads PROJECT[/NAMESPACE][?KEY=VALUE&…], and gives what the keys say besides the place.
func parse(text string, keys ...string) (Place, url.Values, error) {
	text = strings.TrimPrefix(text, "//")
	where, query, _ := strings.Cut(text, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return Place{}, nil, fmt.Errorf("what follows the ? is not KEY=VALUE&KEY=VALUE")
	}
	known := append(keys, "database", "kind")
	slices.Sort(known)
	for _, k := range slices.Sorted(maps.Keys(values)) {
		switch {
		case !slices.Contains(known, k):
			return Place{}, nil, fmt.Errorf("unknown parameter %q: it takes %s", k, strings.Join(known, ", "))
		case len(values[k]) > 1 && k != filterKey:
			return Place{}, nil, fmt.Errorf("parameter %q is there twice", k)
		}
	}
	p := Place{Database: values.Get("database"), Kind: values.Get("kind")}
	p.Project, p.Namespace, _ = strings.Cut(where, "/")
	if p.Project == "" || strings.ContainsAny(where, " :@") {
		return Place{}, nil, fmt.Errorf("%q is not PROJECT or PROJECT/NAMESPACE", where)
	}
	return p, values, nil
}

// times reads what the values say of times.
func times(values url.Values, of map[string]*time.Duration) error {
	for _, k := range slices.Sorted(maps.Keys(of)) {
		text := values.Get(k)
		if text == "" {
			continue
		}
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return fmt.Errorf("parameter %q: %q is not a time: write 30s", k, text)
		}
		*of[k] = d
	}
	return nil
}

func (p Place) kind(usual string) string { return cmp.Or(p.Kind, usual) }
