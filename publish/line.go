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

// Line is the sample as one line of JSON, as [Writer] writes it, without the newline.
func (s Sample) Line() ([]byte, error) {
	var buf bytes.Buffer
	if err := appendLine(&buf, s); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}
