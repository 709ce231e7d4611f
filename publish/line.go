package publish

import (
	"bytes"
	"encoding/json"
)

// appendLine writes s as one line of JSON: {"name":…,"tags":{…sorted…},"points":[[ms,value],…]}. Absent tags and points are empty,
// never null.
func appendLine(to *bytes.Buffer, s Sample) error {
	if s.Tags == nil {
		s.Tags = map[string]string{}
	}
	if s.Points == nil {
		s.Points = []Point{}
	}
	enc := json.NewEncoder(to)
	enc.SetEscapeHTML(false)
	return enc.Encode(s)
}
