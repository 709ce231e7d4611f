package bucket

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"

	"github.com/rota-run/rota/contrib/aws/internal/sdk"
)

// access is what makes a client another one.
type access struct {
	region, endpoint     string
	pathStyle, anonymous bool
	stall                time.Duration
}

// clients are those of one task type in this process, made when they are needed first.
type clients struct {
	load    []func(*config.LoadOptions) error
	options []func(*s3.Options)

	mu   sync.Mutex
	open map[access]*s3.Client
}

func (s *clients) get(ctx context.Context, c Config) (*s3.Client, error) {
	a := access{c.Region, c.Endpoint, c.PathStyle, c.Anonymous, time.Duration(c.Stall)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if client, ok := s.open[a]; ok {
		return client, nil
	}
	client, err := s.make(ctx, a)
	if err != nil {
		return nil, err
	}
	s.open[a] = client
	return client, nil
}

// make asks nobody: the first request does.
func (s *clients) make(ctx context.Context, a access) (*s3.Client, error) {
	conf, err := sdk.Load(ctx, a.region, a.endpoint, a.stall, s.load...)
	if err != nil {
		return nil, err
	}
	if a.anonymous {
		conf.Credentials = aws.AnonymousCredentials{}
	}
	return s3.NewFromConfig(conf, append([]func(*s3.Options){func(o *s3.Options) {
		if a.endpoint != "" {
			o.BaseEndpoint = aws.String(strings.TrimSuffix(a.endpoint, "/"))
		}
		o.UsePathStyle = a.pathStyle
		o.Logger = logging.Nop{} // else it writes to the process's stderr
	}}, s.options...)...), nil
}
