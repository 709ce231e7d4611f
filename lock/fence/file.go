package fence

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/rota-run/rota/cluster"
)

// WriteFile writes a file under a token, or returns ErrStale. Each owner writes one of its own, NAME.TOKEN, so that no
// lock is needed: [ReadFile] reads that of the largest token, whatever a former owner writes later. It is replaced as a
// whole, and those of former owners are removed. A power cut may bring the version before back, and a
// crash may leave NAME.TOKEN.new.
func WriteFile(root *os.Root, name string, token cluster.Token, data []byte) error {
	if err := writeFile(root, name, token, data); err != nil {
		return fmt.Errorf("write %s under token %d: %w", name, token, err)
	}
	return nil
}

func writeFile(root *os.Root, name string, token cluster.Token, data []byte) error {
	own := fileOf(name, token)
	former, err := tokensOf(root, name)
	if err != nil {
		return err
	}
	for _, t := range former {
		if t > token {
			return ErrStale
		}
	}
	if err := replace(root, own, data); err != nil {
		return err
	}
	all, err := tokensOf(root, name) // a newer owner may have written meanwhile
	if err != nil {
		return err
	}
	for _, t := range all {
		if t > token {
			return errors.Join(ErrStale, removeFile(root, own))
		}
	}
	for _, t := range former {
		if t < token {
			err = errors.Join(err, removeFile(root, fileOf(name, t)))
		}
	}
	return err
}

// ReadFile reads what the owner with the largest token has written, and its token. fs.ErrNotExist: nobody has written.
func ReadFile(root *os.Root, name string) ([]byte, cluster.Token, error) {
	for {
		all, err := tokensOf(root, name)
		if err == nil && len(all) == 0 {
			err = fs.ErrNotExist
		}
		if err != nil {
			return nil, 0, fmt.Errorf("read %s: %w", name, err)
		}
		var newest cluster.Token
		for _, t := range all {
			newest = max(newest, t)
		}
		data, err := root.ReadFile(fileOf(name, newest))
		switch {
		case err == nil:
			return data, newest, nil
		case !errors.Is(err, fs.ErrNotExist): // else a newer owner has removed it
			return nil, 0, fmt.Errorf("read %s: %w", name, err)
		}
	}
}

func fileOf(name string, token cluster.Token) string {
	return fmt.Sprintf("%s.%020d", name, uint64(token))
}

// tokensOf are the tokens under which a file was written.
func tokensOf(root *os.Root, name string) (out []cluster.Token, err error) {
	dir, base := path.Split(name)
	entries, err := fs.ReadDir(root.FS(), path.Join(".", dir))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), base+".")
		if t, err := strconv.ParseUint(number, 10, 64); ok && err == nil && len(number) == 20 {
			out = append(out, cluster.Token(t))
		}
	}
	return out, nil
}

// replace writes a file as a whole.
func replace(root *os.Root, name string, data []byte) error {
	f, err := root.OpenFile(name+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return root.Rename(name+".new", name)
}

func removeFile(root *os.Root, name string) error {
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
