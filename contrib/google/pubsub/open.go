package pubsub

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	client "cloud.google.com/go/pubsub/v2/apiv1"
	"google.golang.org/api/option"

	"github.com/rota-run/rota/publish"
)

// Options say where samples go.
type Options struct {
	Project string
	Topic   string
	// Ordering makes the series of a sample its ordering key.
	Ordering bool
	// Options are for the client, such as credentials; default: those of the environment, or the emulator that
	// PUBSUB_EMULATOR_HOST names.
	Options []option.ClientOption
}

// topicID is what Pub/Sub allows.
var topicID = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._~+%-]{2,254}$`)

// New returns a sink; nothing is connected yet.
func New(o Options) (publish.Sink, error) {
	if o.Project == "" || strings.ContainsAny(o.Project, "/ ") || !topicID.MatchString(o.Topic) {
		return nil, fmt.Errorf("pubsub: %q is not PROJECT/TOPIC, a topic of 3 to 255 letters, digits and - . _ ~ + %%",
			o.Project+"/"+o.Topic)
	}
	c, err := client.NewTopicAdminClient(context.Background(), o.Options...)
	if err != nil {
		return nil, fmt.Errorf("pubsub: open project %s: %w (try: gcloud auth application-default login, or GOOGLE_APPLICATION_CREDENTIALS)", o.Project, err)
	}
	return &sink{"projects/" + o.Project + "/topics/" + o.Topic, o.Ordering, c}, nil
}

// Open opens PROJECT/TOPIC[?ordering=on].
func Open(text string) (publish.Publisher, error) {
	where, query, _ := strings.Cut(strings.TrimPrefix(text, "//"), "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, fmt.Errorf("what follows the ? is not KEY=VALUE")
	}
	for k, v := range values {
		if k != "ordering" || len(v) != 1 || v[0] != "on" && v[0] != "off" {
			return nil, fmt.Errorf("unknown parameter %q: it takes ordering=on and ordering=off", k)
		}
	}
	var o Options
	o.Project, o.Topic, _ = strings.Cut(where, "/")
	o.Ordering = values.Get("ordering") == "on"
	s, err := New(o)
	if err != nil {
		return nil, err
	}
	return publish.NewBatcher("pubsub://"+where, s, publish.Options{}), nil
}
