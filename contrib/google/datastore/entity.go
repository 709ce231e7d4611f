package datastore

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/datastore"
)

// entity is a task as it is stored. It takes properties of any type: what cannot be used is malformed, and must not
// hide the other tasks.
type entity struct {
	version  string
	data     string
	updated  int64 // ms
	metadata []string
}

var _ datastore.PropertyLoadSaver = (*entity)(nil)

// Load implements datastore.PropertyLoadSaver.
func (e *entity) Load(properties []datastore.Property) error {
	*e = entity{}
	for _, p := range properties {
		switch p.Name {
		case "version":
			e.version = text(p.Value)
		case "data":
			e.data = text(p.Value)
		case "last_updated":
			switch at := p.Value.(type) {
			case int64:
				e.updated = at
			case float64:
				e.updated = int64(at)
			case time.Time:
				e.updated = at.UnixMilli()
			}
		case "metadata":
			tokens, many := p.Value.([]any)
			if !many {
				tokens = []any{p.Value}
			}
			for _, t := range tokens {
				e.metadata = append(e.metadata, text(t))
			}
		}
	}
	return nil
}

// Save implements datastore.PropertyLoadSaver: tasks are only read.
func (e *entity) Save() ([]datastore.Property, error) { return nil, nil }

func text(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	case int64:
		return strconv.FormatInt(v, 10)
	}
	return ""
}

// has reports whether the metadata has all tokens.
func (e *entity) has(tokens []string) bool {
	return !slices.ContainsFunc(tokens, func(t string) bool { return !slices.Contains(e.metadata, t) })
}

// fileName is the name of the file of a task. An ID that no file can have is escaped: then it is no name of a job, and
// the fault says so.
func fileName(key *datastore.Key) string {
	id := key.Name
	if id == "" {
		id = strconv.FormatInt(key.ID, 10)
	}
	if key.Parent != nil {
		id = key.String()
	}
	id = strings.NewReplacer("%", "%25", "/", "%2F", "\\", "%5C").Replace(id)
	if strings.HasPrefix(id, ".") {
		id = "%2E" + id[1:]
	}
	return id + ".json"
}
