package lab

import (
	"context"
	"fmt"
	"net"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
)

// until asks every 50 ms; the error is the last answer's when the context or two minutes end first.
func until(ctx context.Context, ask func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		last = ask(ctx)
		return last == nil, nil
	})
	if err != nil && last != nil {
		return fmt.Errorf("not ready: %w", last)
	}
	return err
}

// listening returns when something accepts connections on the loopback port.
func listening(ctx context.Context, port int) error {
	return until(ctx, func(ctx context.Context) error {
		connection, err := new(net.Dialer).DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			connection.Close()
		}
		return err
	})
}

// apiReady returns when the API server says so itself.
func (l *Lab) apiReady(ctx context.Context) error {
	client, err := discovery.NewDiscoveryClientForConfig(l.Config)
	if err != nil {
		return err
	}
	return until(ctx, func(ctx context.Context) error {
		_, err := client.RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		return err
	})
}
