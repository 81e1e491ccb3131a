// Package frameworks runs the real controllers of frameworks on a cluster of lab/e2e: JobSet, LeaderWorkerSet, the MPI
// operator, KubeRay, Kubeflow's Trainer and its training operator. hack/build-frameworks.sh builds them.
//
//	running, err := frameworks.Start(ctx, cluster, "jobset", "kuberay")
//	defer running.Stop(ctx)
//
// The controllers have the rights of the administrator. Their webhooks are those of their own manifests, at a loopback
// address; KubeRay's webhooks stay off, as in its chart.
package frameworks

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"tephra.sh/lab/e2e"
)

// ErrNotBuilt is the error of Start where hack/build-frameworks.sh did not run.
var ErrNotBuilt = errors.New("not built, expected what hack/build-frameworks.sh makes; TEPHRA_FRAMEWORKS names another folder")

// Running are controllers of frameworks beside a cluster. One goroutine at a time calls its methods.
type Running struct {
	cluster   *e2e.Cluster
	processes map[string]*e2e.Process
}

// Folder is where the controllers are: $TEPHRA_FRAMEWORKS, or build/frameworks of the repository above the working directory.
func Folder() (string, error) {
	if named := os.Getenv("TEPHRA_FRAMEWORKS"); named != "" {
		return named, nil
	}
	at, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; at != filepath.Dir(at); at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "lab", "go.mod")); err == nil {
			return filepath.Join(at, "build", "frameworks"), nil
		}
	}
	return "", fmt.Errorf("working directory %s: not inside the repository", at)
}

// Names are those of all controllers.
func Names() (names []string) {
	for _, one := range controllers {
		names = append(names, one.name)
	}
	return names
}

// Built is nil if the named controllers were built.
func Built(names ...string) error {
	folder, err := Folder()
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(folder, name, "controller")); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: %w", filepath.Join(folder, name), ErrNotBuilt)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// Version of the controller's module.
func Version(name string) (string, error) {
	folder, err := Folder()
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join(folder, name, "version"))
	return strings.TrimSpace(string(text)), err
}

// Start returns when the named controllers and the controllers that they need serve.
func Start(ctx context.Context, cluster *e2e.Cluster, names ...string) (*Running, error) {
	r := &Running{cluster: cluster, processes: map[string]*e2e.Process{}}
	for _, name := range names {
		for _, one := range append(slices.Clone(needs[name]), name) {
			if err := r.start(ctx, one); err != nil {
				r.Stop()
				return nil, fmt.Errorf("framework %s: %w", one, err)
			}
		}
	}
	return r, nil
}

// Stop ends the controllers. Their definitions stay.
func (r *Running) Stop() {
	for _, process := range r.processes {
		process.Kill()
	}
}

// Kill ends one controller without a word, as if its machine were gone.
func (r *Running) Kill(name string) { r.processes[name].Kill() }

// Restart starts a controller that was killed.
func (r *Running) Restart(name string) error { return r.processes[name].Launch() }

// Logs are the ends of what the controllers wrote.
func (r *Running) Logs() (text string) {
	for name, process := range r.processes {
		text += fmt.Sprintf("--- %s ends with:\n%s\n", name, process.Tail(4))
	}
	return text
}

func (r *Running) start(ctx context.Context, name string) error {
	if r.processes[name] != nil {
		return nil
	}
	i := slices.IndexFunc(controllers, func(c controller) bool { return c.name == name })
	if i < 0 {
		return fmt.Errorf("unknown, expected one of %s", strings.Join(Names(), ", "))
	}
	if err := Built(name); err != nil {
		return err
	}
	one := controllers[i]
	folder, err := Folder()
	if err != nil {
		return err
	}
	built := filepath.Join(folder, name)
	if err := r.define(ctx, filepath.Join(built, "definitions")); err != nil {
		return err
	}
	at, authority, err := r.place(one)
	if err != nil {
		return err
	}
	if err := r.keepsCertificate(ctx, one); err != nil {
		return err
	}
	process := r.cluster.NewProcess(name, filepath.Join(built, "controller"), filled(at, one.arguments)...)
	process.Env = []string{"KUBECONFIG=" + at.kubeconfig, "TMPDIR=" + at.folder}
	r.processes[name] = process
	if err := process.Launch(); err != nil {
		return err
	}
	if err := r.webhooks(ctx, name, filepath.Join(built, "webhooks"), at, authority); err != nil {
		return err
	}
	return r.ready(ctx, process, "http://"+at.health+one.health)
}

func filled(at place, arguments []string) (out []string) {
	for _, argument := range arguments {
		out = append(out, at.fill(argument))
	}
	return out
}

// place writes the certificate and the settings of a controller.
func (r *Running) place(one controller) (at place, authority []byte, err error) {
	at = place{folder: filepath.Join(r.cluster.Dir, "frameworks", one.name), kubeconfig: r.cluster.Lab.Kubeconfig, health: one.healthAt}
	// controller-runtime looks for the certificate below the folder for temporary files if nothing else is said.
	served := filepath.Join(at.folder, "k8s-webhook-server", "serving-certs")
	if err := os.MkdirAll(served, 0o700); err != nil {
		return at, nil, err
	}
	certificate, key, authority, err := r.cluster.LoopbackCertificate(filepath.Join("frameworks", one.name, "tls"))
	if err != nil {
		return at, nil, err
	}
	for _, file := range []string{certificate, key} {
		if err := os.Symlink(file, filepath.Join(served, filepath.Base(file))); err != nil {
			return at, nil, err
		}
	}
	if at.health == "" {
		if at.health, err = e2e.FreeAddress(); err != nil {
			return at, nil, err
		}
	}
	webhooks, err := e2e.FreeAddress()
	if err != nil {
		return at, nil, err
	}
	if at.webhookHost, at.webhookPort, err = net.SplitHostPort(webhooks); err != nil {
		return at, nil, err
	}
	at.config = filepath.Join(at.folder, "config.yaml")
	return at, authority, os.WriteFile(at.config, []byte(at.fill(one.config)), 0o600)
}

// mountedCertificate is where a controller that keeps its certificate itself looks whether the kubelet has mounted it. It
// reads the certificate elsewhere, so this file is empty.
const mountedCertificate = "/tmp/k8s-webhook-server/serving-certs/tls.crt"

// keepsCertificate makes what a controller that keeps its certificate itself waits for.
func (r *Running) keepsCertificate(ctx context.Context, one controller) error {
	if one.rotates == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(mountedCertificate), 0o755); err != nil {
		return err
	}
	if file, err := os.OpenFile(mountedCertificate, os.O_CREATE|os.O_RDONLY, 0o644); err != nil {
		return err
	} else if err := file.Close(); err != nil {
		return err
	}
	namespace := &core.Namespace{ObjectMeta: metav1.ObjectMeta{Name: one.rotatesIn}}
	if _, err := r.cluster.Kube.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	secret := &core.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: one.rotatesIn, Name: one.rotatesSecret}}
	if _, err := r.cluster.Kube.CoreV1().Secrets(one.rotatesIn).Create(ctx, secret, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	_, err := r.cluster.Kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(ctx, withoutEffect(one.rotates), metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// ready returns when the URL answers with 200.
func (r *Running) ready(ctx context.Context, process *e2e.Process, url string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	err := e2e.Until(ctx, func(ctx context.Context) error {
		if !process.Alive() {
			return e2e.Final(errors.New("it ended"))
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return e2e.Final(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s", url, response.Status)
		}
		return nil
	})
	if err != nil {
		err = fmt.Errorf("%w; its log ends with:\n%s", err, process.Tail(4))
	}
	return err
}
