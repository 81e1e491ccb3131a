package probes

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

func get(t *testing.T, address, path string) (int, string) {
	t.Helper()
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get("http://" + address + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func TestWorkThatDoesNotEndFailsTheProbe(t *testing.T) {
	var work Work
	failure := errors.New("the informers have not synced")
	address, err := Serve(t.Context(), "127.0.0.1:0", func() error { return work.Within(50*time.Millisecond, "the session") }, func() error { return failure })
	if err != nil {
		t.Fatal(err)
	}
	if code, text := get(t, address, "/healthz"); code != 200 || text != "ok\n" {
		t.Errorf("%d %s", code, text)
	}
	if code, text := get(t, address, "/readyz"); code != 503 || !strings.Contains(text, failure.Error()) {
		t.Errorf("%d %s", code, text)
	}
	quick, wedged := work.Begin(), work.Begin()
	quick()
	if code, text := get(t, address, "/healthz"); code != 200 {
		t.Errorf("%d %s", code, text)
	}
	time.Sleep(60 * time.Millisecond)
	if code, text := get(t, address, "/healthz"); code != 503 || !strings.Contains(text, "the session has run for") {
		t.Errorf("%d %s", code, text)
	}
	wedged()
	if code, text := get(t, address, "/healthz"); code != 200 {
		t.Errorf("%d %s", code, text)
	}
}

func TestProbesPassBesideIdleConnectionsToTheirOwnPort(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	ok := func() error { return nil }
	address, err := Serve(ctx, "127.0.0.1:0", ok, ok)
	if err != nil {
		t.Fatal(err)
	}
	for range 200 {
		idle, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer idle.Close()
	}
	for range 20 {
		if code, _ := get(t, address, "/healthz"); code != 200 {
			t.Fatalf("code %d", code)
		}
	}
	if _, err := Serve(ctx, address, ok, ok); err == nil || !strings.Contains(err.Error(), address) {
		t.Errorf("%v, expected an error with the address", err)
	}
	stop()
}
