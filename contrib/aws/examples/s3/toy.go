package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

func anyKeys(o *config.LoadOptions) error {
	o.Credentials = credentials.NewStaticCredentialsProvider("any", "key", "")
	return nil
}

// toy is a gateway in memory.
type toy struct{ port, objects int }

// name is that of an object of the toy, size how large it is.
func name(i int) string { return fmt.Sprintf("2026/%06d.log", i) }

func size(i int) int { return 100 + i%900 }

func (t toy) handler() (http.Handler, error) {
	backend := s3mem.New()
	if err := backend.CreateBucket("logs"); err != nil {
		return nil, err
	}
	for i := range t.objects {
		data := bytes.Repeat([]byte{'x'}, size(i))
		if _, err := backend.PutObject("logs", name(i), nil, bytes.NewReader(data), int64(len(data)), nil); err != nil {
			return nil, err
		}
	}
	return gofakes3.New(backend).Server(), nil
}

func (t toy) run(ctx context.Context, out io.Writer) error {
	h, err := t.handler()
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(t.port)))
	if err != nil {
		return err
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		server.Close()
	}()
	fmt.Fprintf(out, "a gateway with %d objects in s3://logs/ listens on http://%s\n", t.objects, l.Addr())
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
