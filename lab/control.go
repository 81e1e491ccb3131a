package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
)

// A running lab takes commands to stop and start components over a socket in its folder, which only the
// same user can open: GET /components, POST /components/NAME/stop and POST /components/NAME/start.

const controlSocket = "control.sock"

func (l *Lab) serveControl() error {
	listener, err := net.Listen("unix", l.path(controlSocket))
	if err != nil {
		return fmt.Errorf("dir %s: %w", l.Dir, err) // too long a path, most likely
	}
	answer := func(w http.ResponseWriter, err error) {
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	}
	routes := http.NewServeMux()
	routes.HandleFunc("GET /components", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, json.NewEncoder(w).Encode(l.Components()))
	})
	routes.HandleFunc("POST /components/{name}/stop", func(w http.ResponseWriter, r *http.Request) {
		answer(w, l.StopComponent(r.PathValue("name")))
	})
	routes.HandleFunc("POST /components/{name}/start", func(w http.ResponseWriter, r *http.Request) {
		answer(w, l.StartComponent(r.Context(), r.PathValue("name")))
	})
	l.control = &http.Server{Handler: routes}
	go func() { _ = l.control.Serve(listener) }()
	return nil
}

// Tell sends one request to the lab that runs in dir, and gives back what it answered.
func Tell(ctx context.Context, dir, method, path string) (string, error) {
	client := http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(dir, controlSocket))
		},
	}}
	request, err := http.NewRequestWithContext(ctx, method, "http://lab"+path, nil)
	if err != nil {
		return "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", fmt.Errorf("dir %s: no lab answers there: %w", dir, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(strings.TrimSpace(string(text)))
	}
	return string(text), err
}
