package command

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set when a release is linked.
var version = "0.1.0"

// revision is the commit that the binary was built from, "" where that is not known.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value[:min(12, len(s.Value))]
		}
	}
	return ""
}

func newVersion(e env) *cobra.Command {
	cmd := &cobra.Command{Use: "version", Short: "print the version", Args: noArgs}
	asJSON := cmd.Flags().Bool("json", false, "print JSON")
	cmd.RunE = func(*cobra.Command, []string) error {
		if *asJSON {
			return e.printJSON(map[string]string{"version": version, "revision": revision(), "go": runtime.Version()})
		}
		line := "rota " + version
		if r := revision(); r != "" {
			line += " (" + r + ")"
		}
		_, err := fmt.Fprintln(e.stdout, line)
		return err
	}
	return cmd
}
