package elastic

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/publish/internal/post"
)

// reply is the answer to a bulk request. Of the items only what failed is asked for in full.
type reply struct {
	Errors bool `json:"errors"`
	Items  []struct {
		Create item `json:"create"`
	} `json:"items"`
}

type item struct {
	Status int `json:"status"`
	Error  struct {
		Type   string `json:"type"`
		Reason string `json:"reason"`
	} `json:"error"`
}

func (i item) good() bool { return i.Status/100 == 2 || i.Status == http.StatusConflict }

var errShort = errors.New("the answer has another number of items than the request")

// hasErrors reports whether a good answer says that a document was not taken.
func hasErrors(body []byte) bool {
	var r reply
	return json.Unmarshal(body, &r) == nil && r.Errors
}

// judge says what became of each sample: it was sent when each of its points was, and is sent again when one of them may be taken later.
func judge(batch []publish.Sample, body []byte, say func([]byte) string) publish.Outcome {
	var r reply
	if err := json.Unmarshal(body, &r); err != nil {
		return publish.RetryAll(batch, 0, fmt.Errorf("the answer is not that of a bulk request: %s", say(body)))
	}
	if !r.Errors {
		return publish.Outcome{}
	}
	points := 0
	for _, s := range batch {
		points += len(s.Points)
	}
	if points != len(r.Items) {
		return publish.RetryAll(batch, 0, errShort)
	}
	out := publish.Outcome{Login: true}
	for _, s := range batch {
		retry, refused := false, false
		for range s.Points {
			i := r.Items[0].Create
			r.Items = r.Items[1:]
			if i.good() {
				continue
			}
			out.Err = fmt.Errorf("a document: status %d: %s", i.Status, say([]byte(i.Error.Type+": "+i.Error.Reason)))
			out.Login = out.Login && post.Login(i.Status) // also an index without room, which the server makes read-only
			retry, refused = retry || post.Passing(i.Status), true
		}
		switch {
		case retry:
			out.Retry = append(out.Retry, s)
		case refused:
			out.Refused++
		}
	}
	return out
}
