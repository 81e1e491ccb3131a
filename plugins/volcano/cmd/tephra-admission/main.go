// Command tephra-admission answers the API server's webhooks: it completes pods that ask for devices,
// and refuses, when they are applied, pods that the scheduler would refuse. `tephra-admission certificates` renews its
// certificate, for clusters without cert-manager.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"

	"tephra.sh/volcano/admission"
	"tephra.sh/volcano/heap"
	"tephra.sh/volcano/listen"
	"tephra.sh/volcano/probes"
	"tephra.sh/volcano/requests"
)

// version is set by the build.
var version = "dev"

func main() {
	if err := run(); err != nil && !errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "tephra-admission:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) > 1 && os.Args[1] == "certificates" {
		return renewCertificates(os.Args[2:])
	}
	var o admission.Options
	flags := pflag.NewFlagSet("tephra-admission", pflag.ContinueOnError)
	flags.StringVar(&o.SchedulerName, "scheduler-name", "tephra", `Value for spec.schedulerName of each pod that the webhook changes. Give tephra-scheduler the same --scheduler-name; its default is "volcano".`)
	take := flags.String("take", string(admission.TakeParts), `Which pods of the default scheduler get the name of --scheduler-name: "none", "parts" (pods that ask for a part of a device), "all" (pods that ask for devices).`)
	flags.StringVar(&o.RuntimeClass, "runtime-class", "", `RuntimeClass for pods that ask for devices and name no RuntimeClass, such as "nvidia"; "" for none.`)
	flags.BoolVar(&o.WriteCounts, "write-counts", false, "Add a request for nvidia.com/gpu to a pod that asks only for a part of a device, so that tools that count nvidia.com/gpu see the pod. Each node must then report as many nvidia.com/gpu as pods can share its devices.")
	flags.BoolVar(&o.AllowForeignSlots, "allow-foreign-slots", false, "Let pods of other schedulers ask for tephra.sh/gpu-slot. Set it only if some GPUs are reserved for such pods.")
	flags.BoolVar(&o.PodGroups, "pod-groups", false, "Write the PodGroup into the pods of JobSets, Indexed Jobs and templates with scheduling.volcano.sh/group-min-member. Set it only if tephra-scheduler has --pod-groups, which makes these PodGroups.")
	devices := flags.String("device-resources", "", `File that defines how pods ask for devices, the same as for tephra-scheduler; "" for the built-in table.`)
	address := flags.String("address", ":8443", "Address of the webhooks, with TLS.")
	certificate := flags.String("tls-cert-file", "/etc/tephra/tls/tls.crt", "File with the certificate, in PEM. It is read again for each connection, so a new certificate needs no restart.")
	key := flags.String("tls-key-file", "/etc/tephra/tls/tls.key", "File with the key of the certificate, in PEM. It is read again with the certificate.")
	observed := flags.String("metrics-address", ":8080", `Address of /metrics; "" for none.`)
	probed := flags.String("probes-address", ":8081", `Address of /healthz and /readyz; "" for none.`)
	printVersion := flags.Bool("version", false, "Print the version and exit.")
	if err := flags.Parse(os.Args[1:]); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("argument %q, expected flags alone", flags.Arg(0))
	}
	if *printVersion {
		fmt.Println("tephra-admission", version)
		return nil
	}
	switch o.Take = admission.Take(*take); o.Take {
	case admission.TakeNone, admission.TakeParts, admission.TakeAll:
	default:
		return fmt.Errorf(`--take: %q, expected "none", "parts" or "all"`, *take)
	}
	if o.SchedulerName == "" {
		return errors.New(`--scheduler-name: "", expected a name`)
	}
	if err := heap.KeepBelow(); err != nil {
		return err
	}
	var err error
	if o.Devices, err = requests.Load(*devices); err != nil {
		return err
	}
	load := func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(*certificate, *key)
		if err != nil {
			klog.ErrorS(err, "Could not read the certificate or its key", "file", *certificate, "key", *key)
			return nil, err
		}
		return &pair, nil
	}
	if _, err := load(nil); err != nil {
		return fmt.Errorf("--tls-cert-file %s, --tls-key-file %s: %w", *certificate, *key, err)
	}
	ready := func() error {
		pair, err := load(nil)
		if err != nil {
			return err
		}
		return inForce(pair.Leaf, time.Now())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()

	failed := make(chan error, 2)
	webhooks := listen.Server(o.Handler())
	webhooks.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: load}
	if err := serve(*address, failed, func(l net.Listener) error { return webhooks.ServeTLS(l, "", "") }); err != nil {
		return err
	}
	servers := []*http.Server{webhooks}
	if *probed != "" && *probed != *observed {
		if _, err := probes.Serve(ctx, *probed, o.Healthy, ready); err != nil {
			return fmt.Errorf("--probes-address: %w", err)
		}
	}
	if *observed != "" {
		mux := http.NewServeMux()
		mux.Handle("/metrics", promhttp.Handler())
		probes.Handle(mux, o.Healthy, ready)
		plain := listen.Server(mux)
		if err := serve(*observed, failed, plain.Serve); err != nil {
			return err
		}
		servers = append(servers, plain)
	}
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	// Reviews that have begun are answered; the API server waits ten seconds for each at most.
	end, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, server := range servers {
		if err := server.Shutdown(end); err != nil {
			return err
		}
	}
	return nil
}

// inForce is nil if the certificate is valid then.
func inForce(certificate *x509.Certificate, now time.Time) error {
	if now.Before(certificate.NotBefore) || now.After(certificate.NotAfter) {
		return fmt.Errorf("the certificate is valid from %s to %s, expected a certificate for %s",
			certificate.NotBefore.Format(time.RFC3339), certificate.NotAfter.Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	return nil
}

// serve begins to; an address that cannot be had is an error at once.
func serve(address string, failed chan<- error, answer func(net.Listener) error) error {
	listener, err := listen.TCP(address, listen.MostConnections)
	if err != nil {
		return err
	}
	klog.InfoS("Serving", "address", listener.Addr().String())
	go func() {
		if err := answer(listener); !errors.Is(err, http.ErrServerClosed) {
			failed <- fmt.Errorf("address %q: %w", address, err)
		}
	}()
	return nil
}
