// Command sees is what the containers of the tests beside it run: it writes down which GPUs it can reach, as a
// container finds out itself, and lives as long as it is asked to.
//
//	sees          does nothing until a signal (the pod's sandbox)
//	sees report   writes /report/<pod UID>.<container>.<number>.json, each time it is started
//
// Environment: POD_UID, CONTAINER; RESTARTS, how many times it ends with an error after a while; STAYS, whether it
// then stays; LINGERS, how long it goes on after a signal.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Report is what one start of a container saw.
type Report struct {
	UID, Container string
	Env            []string
	Devices        []string          // device nodes below /dev that are a GPU's or the driver's
	Denied         []string          // those of them that the container's control group keeps it from
	Mounts         map[string]string // by path in the container, what is mounted there
	Slices         string            // of the mounted directory
	Taken          []string          // whole GPUs that another container has
}

func main() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	if len(os.Args) < 2 {
		<-signals
		return
	}
	report := see()
	before, err := write(report)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	var ends <-chan time.Time
	restarts, _ := strconv.Atoi(os.Getenv("RESTARTS"))
	stays := os.Getenv("STAYS") != ""
	if again := before < restarts; again || !stays {
		ends = time.After(time.Duration(200+os.Getpid()*37%1800) * time.Millisecond)
		stays = again
	}
	select {
	case <-ends:
		if stays {
			os.Exit(1)
		}
	case <-signals:
		lingers, _ := time.ParseDuration(os.Getenv("LINGERS"))
		time.Sleep(lingers)
	}
}

func see() Report {
	r := Report{UID: os.Getenv("POD_UID"), Container: os.Getenv("CONTAINER"), Env: os.Environ(), Mounts: map[string]string{}}
	for _, pattern := range []string{"/dev/nvidia*", "/dev/nvidia-caps/*"} {
		found, _ := filepath.Glob(pattern)
		for _, path := range found {
			if info, err := os.Lstat(path); err != nil || info.IsDir() {
				continue
			}
			r.Devices = append(r.Devices, path)
			// There is no driver: the kernel returns ENXIO if the device is allowed.
			if file, err := os.OpenFile(path, os.O_RDWR, 0); os.IsPermission(err) {
				r.Denied = append(r.Denied, path)
			} else if err == nil {
				file.Close()
			}
		}
	}
	text, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 4 {
			r.Mounts[fields[4]] = fields[3]
		}
	}
	slices, _ := os.ReadFile("/run/tephra/slices.json")
	r.Slices = string(slices)
	for _, uuid := range strings.Split(os.Getenv("NVIDIA_VISIBLE_DEVICES"), ",") {
		lock, err := os.OpenFile("/report/whole."+uuid, os.O_RDWR, 0)
		if err != nil {
			continue // not one of the GPUs of whole containers
		}
		// Held, and the file open, until this process ends.
		if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			r.Taken = append(r.Taken, uuid)
		}
	}
	return r
}

// write returns how many times this container was started before.
func write(r Report) (before int, err error) {
	name := fmt.Sprintf("/report/%s.%s.", r.UID, r.Container)
	earlier, _ := filepath.Glob(name + "*.json")
	text, err := json.Marshal(r)
	if err != nil {
		return 0, err
	}
	fresh := name + strconv.Itoa(len(earlier))
	if err := os.WriteFile(fresh, text, 0o600); err != nil {
		return 0, err
	}
	return len(earlier), os.Rename(fresh, fresh+".json")
}
