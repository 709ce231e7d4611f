package tasks

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/work"
)

// scrapeConfig of scrape.
type scrapeConfig struct {
	URL        string                `json:"url"`
	Headers    map[string]secretText `json:"headers"`     // as in http
	Metrics    []string              `json:"metrics"`     // names, or prefixes with a star: "process_*"; default all
	MaxSamples int                   `json:"max_samples"` // a page with more requested samples is refused entirely; default 10,000, at most 100,000
	MaxLines   int                   `json:"max_lines"`   // the same for lines; default 500,000, at most 2,000,000
	MaxBytes   int                   `json:"max_bytes"`   // the same for bytes, decompressed; default 16 MiB, at most 64 MiB
	Allow      []string              `json:"allow"`       // CIDRs that are allowed although they are not public
	certificates
	login
}

type scrapeRunner struct {
	c     scrapeConfig
	http  *httpRunner
	found finder
}

func (o Options) scrape() work.Type {
	return work.Type{
		Name: "scrape", Doc: "samples from a Prometheus text page", Periodic: true, DefaultEvery: defaultEvery,
		New: typed(func(c scrapeConfig, d work.Definition, f *faults) work.Runner {
			page := o.newHTTP(httpConfig{URL: c.URL, Headers: c.Headers, Allow: c.Allow,
				certificates: c.certificates, login: c.login}, roundTimeout(d), f)
			c.check(f)
			return &scrapeRunner{c: c, http: page, found: finder{prefix: "scrape"}}
		}),
	}
}

func (c *scrapeConfig) check(f *faults) {
	scrapeSamples.settle(f, &c.MaxSamples)
	scrapeLines.settle(f, &c.MaxLines)
	scrapeBytes.settle(f, &c.MaxBytes)
	for i, m := range c.Metrics {
		if m == "" || strings.Contains(strings.TrimSuffix(m, "*"), "*") {
			f.add(fmt.Sprintf("metrics[%d]", i), "a name, or its beginning and a star: process_*",
				"%q is not a pattern", m)
		}
	}
}

// wants reports whether a metric family is asked for.
func (c *scrapeConfig) wants(name string) bool {
	return len(c.Metrics) == 0 || slices.ContainsFunc(c.Metrics, func(m string) bool {
		front, star := strings.CutSuffix(m, "*")
		return name == m || star && strings.HasPrefix(name, front)
	})
}

// Run makes one round: all samples of the page, or none.
func (s *scrapeRunner) Run(ctx context.Context, g *work.Grant) error {
	round, cancel := context.WithTimeout(ctx, s.http.timeout)
	defer cancel()
	req, client, err := s.http.prepare(round, g, "scrape")
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "text/plain;version=0.0.4")
	start := time.Now()
	vector, err := s.page(client, req, start)
	took := time.Since(start)
	out := s.found.report(ctx, g, err)
	if cut(ctx) || err != nil {
		return out
	}
	for _, v := range vector {
		emitSample(g, v)
	}
	s.found.latency(g, "total", took)
	g.Value("scrape.samples", float64(len(vector)), nil)
	return out
}

// page gets and parses the page. What is wrong with it is an *unexpected: status, limit or format.
func (s *scrapeRunner) page(client *http.Client, req *http.Request, at time.Time) (model.Vector, error) {
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", plainURL(s.http.url), withoutURL(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, &unexpected{"status", fmt.Errorf("status is %d, want 200", resp.StatusCode)}
	}
	return s.c.parse(resp.Body, at)
}

// parse reads a page and holds what is asked for alone. An error that is no *unexpected is one of reading.
func (c *scrapeConfig) parse(body io.Reader, at time.Time) (model.Vector, error) {
	page, parser := newPageReader(c, body), expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(page)
	if failed := page.failure(); failed != nil {
		return nil, failed
	}
	if err != nil {
		return nil, notText(err, 0)
	}
	var wanted []*dto.MetricFamily
	for _, name := range slices.Sorted(maps.Keys(families)) {
		if c.wants(name) {
			wanted = append(wanted, families[name])
		}
	}
	vector, err := expfmt.ExtractSamples(&expfmt.DecodeOptions{Timestamp: model.TimeFromUnixNano(at.UnixNano())},
		wanted...)
	if err != nil {
		return nil, &unexpected{"format", err}
	}
	if len(vector) > c.MaxSamples { // a histogram may have more samples than lines
		return nil, c.tooMany()
	}
	return vector, nil
}

// tooMany is the finding for a page with more samples than max_samples.
func (c *scrapeConfig) tooMany() error {
	return scrapeSamples.exceeded("name the metrics that you want: the page has", c.MaxSamples)
}

// emitSample makes labels tags. Labels that Rota's own tags would hide get the prefix that Prometheus uses in this
// case.
func emitSample(g *work.Grant, s *model.Sample) {
	tags := make(map[string]string, len(s.Metric))
	for k, v := range s.Metric {
		switch k {
		case model.MetricNameLabel:
			continue
		case "task", "member", "partition":
			k = "exported_" + k
		}
		tags[plain(string(k))] = plain(string(v))
	}
	g.Emit(plain(string(s.Metric[model.MetricNameLabel])), tags,
		publish.Point{AtMS: int64(s.Timestamp), Value: float64(s.Value)})
}
