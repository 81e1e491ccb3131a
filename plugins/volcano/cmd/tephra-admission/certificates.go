package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"tephra.sh/volcano/certificates"
)

// renewCertificates is `tephra-admission certificates`: it writes what is due, and ends.
func renewCertificates(arguments []string) error {
	var store certificates.Store
	flags := pflag.NewFlagSet("tephra-admission certificates", pflag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", "", `File that names the API server; "" for the API server of the pod that this runs in.`)
	flags.StringVar(&store.Namespace, "namespace", "tephra-system", "Namespace of the Service and the Secrets.")
	flags.StringVar(&store.Name, "name", "tephra-admission", `Name of the Service and of both webhook configurations. The Secrets have this name with "-ca" and "-tls".`)
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("argument %q, expected flags alone", flags.Arg(0))
	}
	for flag, name := range map[string]string{"namespace": store.Namespace, "name": store.Name} {
		if wrong := validation.IsDNS1123Label(name); len(wrong) > 0 {
			return fmt.Errorf("--%s: %q, expected a name: %s", flag, name, wrong[0])
		}
	}
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return err
	}
	if store.Client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), time.Minute, errors.New("the API server did not answer within a minute"))
	defer cancel()
	return store.Run(ctx, time.Now())
}
