package tasks

import escape "github.com/rota-run/rota/internal/plain"

// maxErrorText bounds the text of an error that may quote a target.
const maxErrorText = 1000

// plain escapes what could make a terminal or a reader see another text.
func plain(s string) string { return escape.Escaped(s) }

// plainTags makes names and values of tags plain. It returns tags itself where there is nothing to do.
func plainTags(tags map[string]string) map[string]string {
	clean := true
	for k, v := range tags {
		clean = clean && plain(k) == k && plain(v) == v
	}
	if clean {
		return tags
	}
	out := make(map[string]string, len(tags))
	for k, v := range tags {
		out[plain(k)] = plain(v)
	}
	return out
}

// plainError is an error whose text may quote a target: it is plain and short.
type plainError struct{ error }

// plainly returns nil for nil.
func plainly(err error) error {
	if err == nil {
		return nil
	}
	return plainError{err}
}

// Error returns the plain text, truncated if it is too long.
func (e plainError) Error() string {
	return plain(escape.Cut(e.error.Error(), maxErrorText))
}

// Unwrap returns the error itself.
func (e plainError) Unwrap() error { return e.error }
