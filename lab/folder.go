package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// files is what of the file system is the lab's to remove.
type files struct {
	folder     string // removed with all that is in it
	contents   string // only emptied: it was there before
	kubeconfig string // the additional copy
}

func (l *Lab) makeFolder() (err error) {
	if l.options.Dir == "" {
		if l.Dir, err = os.MkdirTemp("", "tephra-lab-"); err != nil {
			return err
		}
		l.files.folder = l.Dir
	} else {
		if l.Dir, err = filepath.Abs(l.options.Dir); err != nil {
			return err
		}
		entries, err := os.ReadDir(l.Dir)
		switch {
		case errors.Is(err, os.ErrNotExist):
			l.files.folder = l.Dir
		case err != nil:
			return fmt.Errorf("dir: %w", err)
		case len(entries) > 0:
			return fmt.Errorf("dir %s: holds %q, expected an empty or absent folder", l.Dir, entries[0].Name())
		default:
			l.files.contents = l.Dir
		}
	}
	l.Kubeconfig = l.path("kubeconfig")
	return os.MkdirAll(l.path("logs"), 0o700)
}

// copyKubeconfig never touches a file that is there already: the user may need it for other clusters.
func (l *Lab) copyKubeconfig() error {
	if l.options.Kubeconfig == "" {
		return nil
	}
	text, err := os.ReadFile(l.Kubeconfig)
	if err != nil {
		return err
	}
	copied, err := os.OpenFile(l.options.Kubeconfig, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("kubeconfig: %w, expected a path at which no file is", err)
	}
	l.files.kubeconfig = l.options.Kubeconfig
	if _, err := copied.Write(text); err != nil {
		copied.Close()
		return err
	}
	return copied.Close()
}

func (l *Lab) removeFiles() {
	if l.options.Keep {
		return
	}
	if l.files.kubeconfig != "" {
		_ = os.Remove(l.files.kubeconfig)
	}
	if l.files.folder != "" {
		_ = os.RemoveAll(l.files.folder)
	}
	if l.files.contents != "" {
		entries, _ := os.ReadDir(l.files.contents)
		for _, entry := range entries {
			_ = os.RemoveAll(filepath.Join(l.files.contents, entry.Name()))
		}
	}
}

func (l *Lab) path(parts ...string) string {
	return filepath.Join(append([]string{l.Dir}, parts...)...)
}
