package command

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Set when a release is linked: see deploy/build.
var (
	version = "0.1.0"
	linked  = "" // the commit, where the build does not know it by itself
)

// revision is the commit that the binary was built from, "" where that is not known. A plus at its end says that files were changed since.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return shortRevision(linked, false)
	}
	return revisionOf(linked, info.Settings)
}

func revisionOf(linked string, settings []debug.BuildSetting) string {
	commit, changed := linked, false
	for _, s := range settings {
		switch {
		case s.Key == "vcs.revision" && linked == "":
			commit = s.Value
		case s.Key == "vcs.modified" && linked == "":
			changed = s.Value == "true"
		}
	}
	return shortRevision(commit, changed)
}

func shortRevision(commit string, changed bool) string {
	commit = commit[:min(12, len(commit))]
	if commit != "" && changed {
		commit += "+"
	}
	return commit
}

func newVersion(e env) *cobra.Command {
	cmd := &cobra.Command{Use: "version", Short: "print the version and the commit", Args: noArgs, Example: "  rota version"}
	asJSON := formatFlag(cmd.Flags())
	cmd.RunE = func(*cobra.Command, []string) error {
		if *asJSON {
			return e.printJSON(map[string]string{"version": version, "revision": revision(), "go": runtime.Version(), "platform": platform})
		}
		_, err := fmt.Fprintln(e.stdout, versionText(e))
		return err
	}
	return cmd
}

const platform = runtime.GOOS + "/" + runtime.GOARCH

func versionText(e env) string {
	return fmt.Sprintf("%s %s (commit %s, %s, %s)", e.own.name(), version, cmp.Or(revision(), "unknown"), runtime.Version(), platform)
}
