// Command platforms checks the types of everything, tests included, for platforms on which no test runs.
//
//	platforms darwin/arm64 windows/amd64
//
// # Purpose
//
// What a machine cannot run is not compiled either: the types of all packages, with those of other modules, are checked
// from their source, in a tenth of the time. What only a linker would find is found by deploy/release, which builds the
// binary for each platform.
//
// The last line is a JSON object. Exit codes: 0 all is well, 1 it is not, 2 usage.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, "..", os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run checks the module in a folder.
func run(ctx context.Context, dir string, platforms []string, stdout, stderr io.Writer) int {
	if len(platforms) == 0 {
		_, _ = fmt.Fprintln(stderr, "usage: platforms OS/ARCH …\ntry: platforms windows/amd64")
		return 2
	}
	total := 0
	for _, p := range platforms {
		n, err := check(ctx, dir, p)
		if err != nil {
			_, _ = fmt.Fprintf(stderr, "%s: %v\n", p, err)
			return 1
		}
		_, _ = fmt.Fprintf(stdout, "ok   %s\n", p)
		total += n
	}
	_, _ = fmt.Fprintf(stdout, "{\"platforms\":%d,\"packages\":%d}\n", len(platforms), total)
	return 0
}

// check checks all packages for a platform, and returns how many they are; each with a test counts again.
func check(ctx context.Context, dir, platform string) (int, error) {
	system, arch, ok := strings.Cut(platform, "/")
	if !ok {
		return 0, errors.New("not a platform\ntry: windows/amd64")
	}
	const all = packages.NeedName | packages.NeedImports | packages.NeedDeps | packages.NeedFiles | packages.NeedCompiledGoFiles |
		packages.NeedTypes | packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedModule
	checked, err := packages.Load(&packages.Config{
		Context: ctx, Mode: all, Dir: dir, Tests: true,
		Env: append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch),
	}, "./...")
	if err != nil {
		return 0, fmt.Errorf("list the packages: %w", err)
	}
	var errs []error
	packages.Visit(checked, nil, func(p *packages.Package) {
		for _, e := range p.Errors {
			errs = append(errs, e)
		}
	})
	return len(checked), errors.Join(errs...)
}
