package lab_test

import (
	"bufio"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"tephra.sh/lab"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	volcano "volcano.sh/apis/pkg/client/clientset/versioned"
)

// gang is a Volcano Job of one-GPU pods with the given pod annotations.
func gang(name string, members int32, annotations map[string]string) *batch.Job {
	gpu := core.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}
	return &batch.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec: batch.JobSpec{
			Queue: "research", MinAvailable: members,
			Tasks: []batch.TaskSpec{{
				Name: "worker", Replicas: members,
				Template: core.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Annotations: annotations},
					Spec: core.PodSpec{
						RestartPolicy: core.RestartPolicyNever,
						Containers:    []core.Container{{Name: "main", Image: "none", Resources: core.ResourceRequirements{Limits: gpu}}},
					},
				},
			}},
		},
	}
}

func TestALabRunsVolcanoJobs(t *testing.T) {
	options := small()
	options.StockScheduler = true
	running := start(t, options)
	client := kubernetes.NewForConfigOrDie(running.Config)
	volcanoClient := volcano.NewForConfigOrDie(running.Config)
	jobs := volcanoClient.BatchV1alpha1().Jobs("default")
	podGroups := volcanoClient.SchedulingV1beta1().PodGroups("default")

	submit := func(t *testing.T, job *batch.Job) {
		t.Helper()
		if _, err := jobs.Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	reachesWithin := func(t *testing.T, limit time.Duration, name string, phase batch.JobPhase) *batch.Job {
		t.Helper()
		var job *batch.Job
		within(t, limit, func() (err error) {
			if job, err = jobs.Get(t.Context(), name, metav1.GetOptions{}); err != nil {
				return err
			}
			if job.Status.State.Phase != phase {
				return fmt.Errorf("job %s: %s, expected %s", name, job.Status.State.Phase, phase)
			}
			return nil
		})
		return job
	}
	reaches := func(t *testing.T, name string, phase batch.JobPhase) *batch.Job {
		t.Helper()
		return reachesWithin(t, time.Minute, name, phase)
	}

	t.Run("a gang runs on the fake nodes, and its pods go when it is deleted", func(t *testing.T) {
		submit(t, gang("train", 16, nil))
		if job := reaches(t, "train", batch.Running); job.Spec.SchedulerName != "volcano" {
			t.Errorf("scheduler %q, expected admission to have set volcano", job.Spec.SchedulerName)
		}
		if err := jobs.Delete(t.Context(), "train", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() error {
			pods, err := client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
			if err == nil && len(pods.Items) > 0 {
				err = fmt.Errorf("%d pods are left of a deleted job", len(pods.Items))
			}
			return err
		})
	})
	t.Run("pods end as their annotations say", func(t *testing.T) {
		short := gang("short", 2, map[string]string{"lab.tephra.sh/run-for": "100ms"})
		short.Spec.Policies = []batch.LifecyclePolicy{{Event: "TaskCompleted", Action: "CompleteJob"}}
		submit(t, short)
		failing := gang("failing", 2, map[string]string{"lab.tephra.sh/fail-after": "100ms"})
		failing.Spec.Policies = []batch.LifecyclePolicy{{Event: "PodFailed", Action: "AbortJob"}}
		submit(t, failing)
		reaches(t, "short", batch.Completed)
		reaches(t, "failing", batch.Aborted)
	})
	t.Run("admission refuses a job without tasks", func(t *testing.T) {
		empty := gang("empty", 1, nil)
		empty.Spec.Tasks = nil
		if _, err := jobs.Create(t.Context(), empty, metav1.CreateOptions{}); err == nil || !strings.Contains(err.Error(), "denied") {
			t.Errorf("%v, expected a denial", err)
		}
	})
	t.Run("a job runs whose PodGroup was admitted before the controllers knew it", func(t *testing.T) {
		if err := running.StopComponent("volcano-scheduler"); err != nil {
			t.Fatal(err)
		}
		submit(t, gang("late", 4, nil))
		job := reaches(t, "late", batch.Pending)
		// Created again, already admitted: what a watch that was broken meanwhile would see.
		name := job.Name + "-" + string(job.UID)
		eventually(t, func() error {
			group, err := podGroups.Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if err := podGroups.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
				return err
			}
			group.ResourceVersion, group.UID = "", ""
			group.Status.Phase = scheduling.PodGroupInqueue
			_, err = podGroups.Create(t.Context(), group, metav1.CreateOptions{})
			return err
		})
		if err := running.StartComponent(t.Context(), "volcano-scheduler"); err != nil {
			t.Fatal(err)
		}
		reaches(t, "late", batch.Running)
	})
	t.Run("the API server comes back at its address with its data, and jobs run again", func(t *testing.T) {
		before := running.Components()["kube-apiserver"]
		if err := running.StopComponent("kube-apiserver"); err != nil {
			t.Fatal(err)
		}
		if _, err := jobs.List(t.Context(), metav1.ListOptions{}); err == nil {
			t.Error("a stopped API server answers")
		}
		if err := running.StartComponent(t.Context(), "kube-apiserver"); err != nil {
			t.Fatal(err)
		}
		if after := running.Components()["kube-apiserver"]; after == before || after == 0 {
			t.Errorf("process %d before, %d after", before, after)
		}
		reaches(t, "short", batch.Completed)
		eventually(t, func() error {
			_, err := jobs.Create(t.Context(), gang("again", 4, nil), metav1.CreateOptions{})
			return err
		})
		reachesWithin(t, afterOutage, "again", batch.Running)
	})
	t.Run("a component that is killed is started again", func(t *testing.T) {
		before := running.Components()["volcano-controllers"]
		if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() error {
			if after := running.Components()["volcano-controllers"]; after == before || after == 0 {
				return fmt.Errorf("volcano-controllers: process %d, killed %d", after, before)
			}
			return nil
		})
	})
	t.Run("a stopped lab leaves no process and no file", func(t *testing.T) {
		pids := running.Components()
		running.Stop()
		for name, pid := range pids {
			if alive(pid) {
				t.Errorf("%s (process %d) is alive", name, pid)
			}
		}
		if _, err := os.Stat(running.Dir); err == nil {
			t.Errorf("%s is still there", running.Dir)
		}
	})
}

func TestAKilledLabLeavesNoProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "lab")
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), holdLab+"=1", "TEPHRA_LAB_TEST_DIR="+dir)
	command.Stderr = os.Stderr
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(output).ReadString('\n'); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	children := processesNaming(t, dir)
	if len(children) < 5 {
		t.Fatalf("%d components run, expected at least 5", len(children))
	}
	_ = command.Process.Kill()
	_ = command.Wait()
	eventually(t, func() error {
		if left := processesNaming(t, dir); len(left) > 0 {
			return fmt.Errorf("alive after the lab was killed: %v", left)
		}
		return nil
	})
}

func TestALabThatCannotStartSaysWhyAndLeavesNothing(t *testing.T) {
	options := small()
	options.Dir = filepath.Join(t.TempDir(), "lab")
	options.APIServerFlags = []string{"--no-such-flag"}
	_, err := lab.Start(context.Background(), options)
	if err == nil || !strings.Contains(err.Error(), "unknown flag: --no-such-flag") {
		t.Errorf("%v, expected kube-apiserver's own words", err)
	}
	if _, err := os.Stat(options.Dir); err == nil {
		t.Errorf("%s is still there", options.Dir)
	}
}

func TestALabTakesNobodysFiles(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "mine")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	options := small()
	options.Dir = dir
	if _, err := lab.Start(context.Background(), options); err == nil {
		t.Error("a folder that holds a file was taken")
	}
	options.Dir, options.Kubeconfig = "", file
	if _, err := lab.Start(context.Background(), options); err == nil {
		t.Error("a kubeconfig that exists was taken")
	}
	if text, _ := os.ReadFile(file); string(text) != "precious" {
		t.Errorf("the file holds %q now", text)
	}
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

// processesNaming are the processes whose command line holds the text.
func processesNaming(t *testing.T, text string) (found []string) {
	t.Helper()
	files, err := fs.Glob(os.DirFS("/proc"), "[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		line, _ := os.ReadFile("/proc/" + file)
		if strings.Contains(string(line), text) {
			found = append(found, filepath.Dir(file))
		}
	}
	return found
}
