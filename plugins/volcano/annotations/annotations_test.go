package annotations

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestSlicesThatAreWrittenAreReadBack(t *testing.T) {
	written := []ContainerSlices{
		{Name: "init", Slices: []Slice{{UUID: "GPU-a", Index: 0, Mode: Whole, Compute: 1000, MemoryMiB: 81559}}},
		{Name: "main", Slices: []Slice{
			{UUID: "GPU-a", Index: 0, Mode: Fraction, Compute: 500, MemoryMiB: 40000},
			{Index: 3, Mode: Fraction, Compute: 0, MemoryMiB: 1000},
			{Index: 4, Mode: MPS, Compute: 1000, MemoryMiB: 0},
			{Index: 5, Mode: TimeSlice, Compute: 250},
			{Index: 6, Mode: MIG, Compute: 142, MemoryMiB: 9536, Instance: &Instance{"1g.10gb", 3}},
		}},
		{Name: "log"},
	}
	text, err := FormatSlices(written)
	if err != nil {
		t.Fatal(err)
	}
	read, err := ParseSlices(text)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(read, written) {
		t.Errorf("wrote %+v, read %+v", written, read)
	}
}

func TestInventoriesThatAreWrittenAreReadBack(t *testing.T) {
	numa := int16(1)
	written := []Device{{UUID: "GPU-a", Model: "NVIDIA H100 80GB HBM3", MemoryMiB: 81559, Healthy: true, NUMA: &numa},
		{Model: "T4", MemoryMiB: 15360, Links: []Link{{"SYS", 0}}},
		{UUID: "GPU-b", Model: "NVIDIA A100-SXM4-40GB", MemoryMiB: 40960, Healthy: true, Links: []Link{{NV, 12}, {"PIX", 0}},
			Sharing: Sharing{Modes: []Mode{Whole, MPS, MIG}, SplitCount: 3, MPSClients: 16,
				Replicas: 4, ComputeFactor: 1500, MemoryFactor: 2000, MIGModel: "A100-40GB"}}}
	text, err := FormatInventory(written)
	if err != nil {
		t.Fatal(err)
	}
	read, err := ParseInventory(text)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(read, written) {
		t.Errorf("wrote %+v, read %+v", written, read)
	}
}

func TestFieldsOfLaterVersionsAreIgnored(t *testing.T) {
	slices, err := ParseSlices(`{"version":1,"nonce":"x","containers":[{"name":"a","mig":1,"slices":[
		{"index":1,"mode":"whole","compute":1000,"memoryMiB":5,"profile":"1g.10gb"}]}]}`)
	if err != nil || len(slices) != 1 || slices[0].Slices[0].Index != 1 {
		t.Errorf("got %+v, %v", slices, err)
	}
	devices, err := ParseInventory(`{"version":1,"links":[],"devices":[{"model":"T4","memoryMiB":5,"healthy":true,"numa":1}]}`)
	if err != nil || len(devices) != 1 {
		t.Errorf("got %+v, %v", devices, err)
	}
}

func TestErrorsNameFieldValueAndExpected(t *testing.T) {
	slices := func(text string) error { _, err := ParseSlices(text); return err }
	inventory := func(text string) error { _, err := ParseInventory(text); return err }
	register := func(text string) error { _, err := ParseVGPURegister(text); return err }
	const aSlice = `{"version":1,"containers":[{"name":"a","slices":[`
	for _, test := range []struct {
		err  error
		want string
	}{
		{slices(`not JSON`), `tephra.sh/slices: "not JSON", expected JSON`},
		{slices(``), `tephra.sh/slices: "", expected JSON`},
		{slices(`{"containers":[]}`), `tephra.sh/slices: version: absent, expected 1`},
		{slices(`{"Version":1,"containers":[]}`), `version: absent, expected 1`},
		{slices(`{"version":2,"containers":[]}`), `version: 2, expected 1`},
		{slices(`{"version":1}`), `containers: absent, expected a list`},
		{slices(`{"version":1,"containers":[]} x`), `expected JSON`},
		{slices(`{"version":1,"containers":[{"name":""}]}`), `containers[0].name: empty, expected the container's name`},
		{slices(`{"version":1,"containers":[{"name":"a"},{"name":"a"}]}`), `containers[1].name: "a", expected each container once`},
		{slices(aSlice + `{}]}]}`), `containers[0].slices[0].index: absent, expected 0 to 65534`},
		{slices(aSlice + `{"index":70000}]}]}`), `containers[0].slices[0].index: 70000, expected 0 to 65534`},
		{slices(aSlice + `{"index":0,"mode":"half"}]}]}`), `containers[0].slices[0].mode: "half", expected "whole", "fraction", "mps", "timeSlice" or "mig"`},
		{slices(aSlice + `{"index":0,"mode":"mig","compute":142,"memoryMiB":1}]}]}`), `slices[0].mig: absent, expected profile and start`},
		{slices(aSlice + `{"index":0,"mode":"mig","compute":142,"memoryMiB":1,"mig":{"profile":"1g","start":0}}]}]}`), `mig.profile: "1g", expected a profile such as "1g.10gb"`},
		{slices(aSlice + `{"index":0,"mode":"mig","compute":142,"memoryMiB":1,"mig":{"profile":"1g.10gb","start":8}}]}]}`), `mig.start: 8, expected 0 to 7`},
		{slices(aSlice + `{"index":0,"mode":"whole","compute":500}]}]}`), `compute: 500, expected 1000 to 1000`},
		{slices(aSlice + `{"index":0,"mode":"fraction","compute":5,"memoryMiB":-1}]}]}`), `memoryMiB: -1, expected 0 to 1073741824`},
		{slices(`"` + strings.Repeat("x", MaxSlicesBytes) + `"`), `65538 bytes, expected at most 65536 bytes`},
		{inventory(`{"version":1}`), `tephra.sh/gpu-inventory: devices: absent, expected a list`},
		{inventory(`{"version":1,"devices":[{"memoryMiB":0}]}`), `devices[0].memoryMiB: 0, expected 1 to 1073741824`},
		{inventory(`{"version":1,"devices":[{"memoryMiB":1}]}`), `devices[0].healthy: absent, expected true or false`},
		{inventory(`{"version":1,"devices":[{"uuid":"a","memoryMiB":1,"healthy":true},{"uuid":"a"}]}`), `devices[1].uuid: "a", expected each device once`},
		{inventory(`{"version":1,"devices":[{"memoryMiB":1,"healthy":true,"modes":["half"]}]}`), `devices[0].modes: "half", expected "whole"`},
		{inventory(`{"version":1,"devices":[{"memoryMiB":1,"healthy":true,"modes":["mig"]}]}`), `devices[0].migModel: "", expected a model such as "A100-40GB"`},
		{inventory(`{"version":1,"devices":[{"memoryMiB":1,"healthy":true,"mpsClients":-1}]}`), `devices[0].mpsClients: -1, expected 1 to 10000`},
		{inventory(`{"version":1,"devices":[{"memoryMiB":1,"healthy":true,"memoryFactor":500}]}`), `devices[0].memoryFactor: 500, expected 1000 to 10000`},
		{inventory(`{"version":1,"devices":[{"memoryMiB":1,"healthy":true},{"memoryMiB":1,"healthy":true,"links":["NVL"]}]}`), `devices[1].links[0]: "NVL", expected "SYS", "NODE"`},
		{inventory(`{"version":1,"devices":[{"memoryMiB":1,"healthy":true},{"memoryMiB":1,"healthy":true,"links":["NV2"]},{"memoryMiB":1,"healthy":true,"links":["NV2"]}]}`), `devices[2].links: 1 links, expected 2: one to each device before it`},
		{inventory(`{"version":1,"devices":[{"memoryMiB":1,"healthy":true,"links":["PIX"]}]}`), `devices[0].links: 1 links, expected 0`},
		{inventory(`{"version":1,"devices":[{"memoryMiB":1,"healthy":true,"numa":-1}]}`), `devices[0].numa: -1, expected 0 to 32767`},
		{inventory(`{"version":1,"devices":[{"memoryMiB":"1"}]}`), `expected a int64`},
		{register(`GPU-a,10,x,T4,true,hami-core:`), `volcano.sh/node-vgpu-register: device[0].memory: "x", expected 1 to 1073741824`},
		{register(`GPU-a,10,5,T4`), `device[0]: "GPU-a,10,5,T4", expected UUID,count,memory,type,health,mode`},
		{register(`GPU-a,10,5,T4,well,mig:`), `device[0].health: "well", expected true or false`},
	} {
		var typed *Error
		if test.err == nil || !errors.As(test.err, &typed) || !strings.Contains(test.err.Error(), test.want) {
			t.Errorf("got %v, want an *Error with %q", test.err, test.want)
		}
	}
}

func TestAnErrorIsShortWhateverTheAnnotationHolds(t *testing.T) {
	_, err := ParseSlices(strings.Repeat("x", MaxSlicesBytes))
	if err == nil || len(err.Error()) > 300 {
		t.Errorf("got %v", err)
	}
}

func TestVolcanosOwnInventoryIsRead(t *testing.T) {
	devices, err := ParseVGPURegister("GPU-a,10,32768,NVIDIA-Tesla V100,true,hami-core:GPU-b,10,32768,NVIDIA-Tesla V100,false,hami-core:")
	want := []Device{{UUID: "GPU-a", Model: "NVIDIA-Tesla V100", MemoryMiB: 32768, Healthy: true}, {UUID: "GPU-b", Model: "NVIDIA-Tesla V100", MemoryMiB: 32768}}
	if err != nil || !reflect.DeepEqual(devices, want) {
		t.Errorf("got %+v, %v", devices, err)
	}
}

func TestWhatCannotBeReadIsNotWritten(t *testing.T) {
	if text, err := FormatSlices([]ContainerSlices{{Name: "a", Slices: []Slice{{Mode: "half"}}}}); err == nil {
		t.Errorf("wrote %s", text)
	}
	if text, err := FormatInventory([]Device{{Model: "T4"}}); err == nil {
		t.Errorf("wrote %s", text)
	}
}

func FuzzParseSlices(f *testing.F) {
	f.Add(`{"version":1,"containers":[{"name":"a","slices":[{"uuid":"GPU-a","index":0,"mode":"whole","compute":1000,"memoryMiB":5}]}]}`)
	f.Add(`{"version":1,"containers":null}`)
	f.Add(`{"version":1e3}`)
	f.Fuzz(func(t *testing.T, text string) {
		read, err := ParseSlices(text)
		if err != nil {
			return
		}
		again, err := FormatSlices(read)
		if err != nil {
			if len(text) > MaxSlicesBytes/4 {
				return // written out in full it may be too long
			}
			t.Fatalf("read %q and cannot write it: %v", text, err)
		}
		if reread, err := ParseSlices(again); err != nil || !reflect.DeepEqual(read, reread) {
			t.Fatalf("%q: read %+v, then %+v, %v", text, read, reread, err)
		}
	})
}

func FuzzParseInventory(f *testing.F) {
	f.Add(`{"version":1,"devices":[{"uuid":"GPU-a","model":"T4","memoryMiB":5,"healthy":true}]}`)
	f.Add(`{"version":1,"devices":[]}`)
	f.Fuzz(func(t *testing.T, text string) {
		read, err := ParseInventory(text)
		if err != nil {
			return
		}
		again, err := FormatInventory(read)
		if err != nil {
			if len(text) > MaxInventoryBytes/4 {
				return // written out in full it may be too long
			}
			t.Fatalf("read %q and cannot write it: %v", text, err)
		}
		if reread, err := ParseInventory(again); err != nil || !reflect.DeepEqual(read, reread) {
			t.Fatalf("%q: read %+v, then %+v, %v", text, read, reread, err)
		}
	})
}

func FuzzParseVGPURegister(f *testing.F) {
	f.Add("GPU-a,10,32768,NVIDIA-Tesla V100,true,hami-core:")
	f.Fuzz(func(t *testing.T, text string) {
		devices, err := ParseVGPURegister(text)
		for _, device := range devices {
			if err != nil || device.MemoryMiB < 1 {
				t.Fatalf("%q: %+v, %v", text, device, err)
			}
		}
	})
}
