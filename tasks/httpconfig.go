package tasks

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// httpConfig of http.
type httpConfig struct {
	URL       string                `json:"url"`
	Method    string                `json:"method"`    // default GET
	Headers   map[string]secretText `json:"headers"`   // values may be env:NAME or file:/path, also after a word: "Bearer env:TOKEN"
	Body      string                `json:"body"`      // sent as it is
	Redirects *int                  `json:"redirects"` // most redirects to follow; default 5; 0 treats the redirect itself as the response
	Expect    httpExpect            `json:"expect"`
	MaxBody   int                   `json:"max_body"` // most bytes of the body that are read, decompressed; default 1 MiB, at most 16 MiB
	Allow     []string              `json:"allow"`    // CIDRs that are allowed although they are not public
	certificates
	login
}

// check fills in defaults and adds all faults; the URL is nil where it is none.
func (c *httpConfig) check(o Options, f *faults) (*url.URL, guard) {
	g := o.guard(f, c.Allow)
	u := checkURL(f, g, c.URL)
	c.Method = cmp.Or(c.Method, http.MethodGet)
	methods := []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
	if !slices.Contains(methods, c.Method) {
		f.add("method", "one of "+strings.Join(methods, ", "), "unknown method %q", c.Method)
	}
	checkHeaders(f, c.Headers)
	c.certificates.check(f, u == nil || u.Scheme != "http")
	c.login.check(f, c.Headers)
	if c.Redirects != nil && (*c.Redirects < 0 || *c.Redirects > 20) {
		f.add("redirects", "", "%d is not between 0 and 20", *c.Redirects)
	}
	c.Expect.validate(f)
	httpBody.settle(f, &c.MaxBody)
	return u, g
}

// checkURL parses an absolute http or https URL without user.
func checkURL(f *faults, g guard, text string) *url.URL {
	if text == "" {
		f.add("url", "such as https://example.org/", "missing")
		return nil
	}
	u, err := url.Parse(text)
	if err != nil {
		f.add("url", "such as https://example.org/", "not a URL: %w", withoutURL(err))
		return nil
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		f.add("url", "write https:// or http:// in front", "the scheme is %q", u.Scheme)
	case u.Hostname() == "":
		f.add("url", "such as https://example.org/", "there is no host in it")
	case u.User != nil:
		f.add("url", "use the fields user and password", "user and password do not belong into a URL")
	}
	if err := g.checkHost(u.Hostname()); err != nil {
		f.add("url", "", "%w", err)
	}
	return u
}

func checkHeaders(f *faults, headers map[string]secretText) {
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		path := "headers." + name
		if !httpguts.ValidHeaderFieldName(name) {
			f.add(path, "", "%q is not the name of a header", name)
		}
		if slices.Contains([]string{"content-length", "transfer-encoding", "connection"}, strings.ToLower(name)) {
			f.add(path, "leave it out", "the client sets this header itself")
		}
		if err := headers[name].check(); err != nil {
			f.add(path, "env:NAME or file:/absolute/path", "%w", err)
		}
		if front, _ := headers[name].split(); !httpguts.ValidHeaderFieldValue(front) {
			f.add(path, "", "the value has characters that no header may have")
		}
	}
}

// statuses are the accepted HTTP status codes; empty means below 400.
type statuses []int

// UnmarshalJSON reads 200 or [200, 204].
func (s *statuses) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '[' {
		return json.Unmarshal(b, (*[]int)(s))
	}
	*s = make(statuses, 1)
	return json.Unmarshal(b, &(*s)[0])
}

func (s statuses) accept(code int) bool {
	if len(s) == 0 {
		return code < 400
	}
	return slices.Contains(s, code)
}

func (s statuses) String() string {
	if len(s) == 0 {
		return "below 400"
	}
	return strings.Trim(strings.ReplaceAll(fmt.Sprint([]int(s)), " ", " or "), "[]")
}

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
