package tasks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
)

// httpExpect is what an answer must be like.
type httpExpect struct {
	Status statuses                   `json:"status"` // 200 or [200, 204]; default anything below 400
	Body   string                     `json:"body"`   // must occur in the first max_body bytes
	JSON   map[string]json.RawMessage `json:"json"`   // path, such as "items.0.state" or "/items/0/state", and the required value
}

func (e httpExpect) validate(f *faults) {
	for i, s := range e.Status {
		if s < 100 || s > 599 {
			f.add(fmt.Sprintf("expect.status[%d]", i), "such as 200", "%d is not an HTTP status", s)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(e.JSON)) {
		if path == "" {
			f.add("expect.json", `such as {"status": "ok"}`, "empty path")
		}
	}
}

// wantsBody reports whether the body is looked at.
func (e httpExpect) wantsBody() bool { return e.Body != "" || len(e.JSON) > 0 }

// check returns nil or an *unexpected with the reason status, body or json.
func (e httpExpect) check(resp *http.Response, body bodyRead) error {
	if !e.Status.accept(resp.StatusCode) {
		return &unexpected{"status", fmt.Errorf("status is %d, want %s", resp.StatusCode, e.Status)}
	}
	if !bytes.Contains(body.text, []byte(e.Body)) {
		return &unexpected{"body", fmt.Errorf("body does not contain %q%s", e.Body, body.note())}
	}
	if len(e.JSON) == 0 {
		return nil
	}
	if err := e.checkJSON(body); err != nil {
		return &unexpected{"json", err}
	}
	return nil
}

func (b bodyRead) note() string {
	if b.cut {
		return ": it has " + httpBody.beyond(len(b.text))
	}
	return ""
}

func (e httpExpect) checkJSON(body bodyRead) error {
	if body.cut {
		return errors.New("body has " + httpBody.beyond(len(body.text)))
	}
	if n := body.most / jsonValue; moreValues(body.text, n) {
		return fmt.Errorf("body has more than %d JSON values, one for each %d bytes of max_body; max_body raises the limit, to %d at most", n, jsonValue, httpBody.most)
	}
	doc, err := decodeAny(body.text)
	if err != nil {
		return errors.New("body is not JSON")
	}
	for _, path := range slices.Sorted(maps.Keys(e.JSON)) {
		got, ok := lookUp(doc, path)
		if !ok {
			return fmt.Errorf("JSON has no value at %s", path)
		}
		want, err := decodeAny(e.JSON[path])
		if err != nil {
			return fmt.Errorf("expected value at %s: %w", path, err)
		}
		if !sameJSON(got, want) {
			return fmt.Errorf("JSON at %s is not %s", path, e.JSON[path])
		}
	}
	return nil
}
