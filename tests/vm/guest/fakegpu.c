// SPDX-License-Identifier: GPL-2.0
// Fake NVIDIA GPUs on their own PCI root bus (domain 0x10), for tests in a virtual machine only.
// Their BARs are RAM that the kernel command line reserves: memmap=256M$0x80000000, 32 MiB a GPU.
//
// Parameters simulate faults of real GPUs. A probe fails for a GPU without an interrupt line. A lost GPU
// reads as ~0 everywhere. `reject` removes the interrupt for one driver version only: so a new driver fails
// on a host where the old one worked.
#include <linux/io.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/pci.h>

#define MAX_GPUS 8
#define GPU_SPAN (32u << 20)
#define GPU_IRQ 10

static ulong base = 0x80000000;
module_param(base, ulong, 0);
MODULE_PARM_DESC(base, "start of the reserved RAM");
static uint gpus = 1;
module_param(gpus, uint, 0444);
MODULE_PARM_DESC(gpus, "number of GPUs (at most 8)");
static uint device = 0x2330;
module_param(device, uint, 0);
MODULE_PARM_DESC(device, "PCI device id; the default is an H100 SXM5");
static uint noirq;
module_param(noirq, uint, 0444);
MODULE_PARM_DESC(noirq, "mask of the GPUs that have no interrupt line");
static uint lost;
module_param(lost, uint, 0644);
MODULE_PARM_DESC(lost, "mask of the GPUs that have fallen off the bus");
static char reject[32];
module_param_string(reject, reject, sizeof(reject), 0644);
MODULE_PARM_DESC(reject, "version of nvidia.ko for which the GPUs have no interrupt");
static uint reject_mask = ~0;
module_param(reject_mask, uint, 0644);
MODULE_PARM_DESC(reject_mask, "mask of the GPUs that `reject` applies to");

static struct {
	u8 value[256];    // what a read of the configuration space returns
	u8 writable[256]; // which bits a write may change
} config[MAX_GPUS];
static struct pci_bus *bus;

// Returns the GPU that a configuration access addresses, or -1.
static int gpu_at(unsigned int devfn, int where)
{
	unsigned int gpu = PCI_SLOT(devfn);

	if (PCI_FUNC(devfn) != 0 || gpu >= gpus || where >= 256 || (lost & BIT(gpu)))
		return -1;
	return gpu;
}

static int config_read(struct pci_bus *b, unsigned int devfn, int where, int size, u32 *val)
{
	int gpu = gpu_at(devfn, where);

	*val = ~0;
	if (gpu < 0)
		return PCIBIOS_DEVICE_NOT_FOUND;
	*val = 0;
	memcpy(val, config[gpu].value + where, size);
	return PCIBIOS_SUCCESSFUL;
}

static int config_write(struct pci_bus *b, unsigned int devfn, int where, int size, u32 val)
{
	int i, gpu = gpu_at(devfn, where);

	if (gpu < 0)
		return PCIBIOS_DEVICE_NOT_FOUND;
	for (i = 0; i < size; i++) {
		u8 *byte = &config[gpu].value[where + i], mask = config[gpu].writable[where + i];

		*byte = (*byte & ~mask) | ((val >> (8 * i)) & mask);
	}
	return PCIBIOS_SUCCESSFUL;
}

static struct pci_ops ops = { .read = config_read, .write = config_write };
static struct pci_sysdata sysdata = { .domain = 0x10, .node = -1 };
static struct resource bus_range = { .name = "fakegpu bus", .start = 0, .end = 0xff, .flags = IORESOURCE_BUS };
static struct resource mem_range = { .name = "fakegpu mem", .flags = IORESOURCE_MEM };

static void set_bar(int gpu, int n, u32 addr, u32 size, u32 flags)
{
	u8 *value = config[gpu].value + PCI_BASE_ADDRESS_0 + 4 * n;
	u8 *writable = config[gpu].writable + PCI_BASE_ADDRESS_0 + 4 * n;

	*(u32 *)value = addr | flags;
	*(u32 *)writable = ~(size - 1) & ~0xfu;
	if (flags & PCI_BASE_ADDRESS_MEM_TYPE_64) // the upper half is zero and writable
		*(u32 *)(writable + 4) = 0xffffffff;
}

static void fill_config(int gpu)
{
	u8 *value = config[gpu].value, *writable = config[gpu].writable;
	u32 start = base + gpu * GPU_SPAN;

	*(u16 *)(value + PCI_VENDOR_ID) = 0x10de;
	*(u16 *)(value + PCI_DEVICE_ID) = device;
	value[PCI_REVISION_ID] = 0xa1;
	*(u16 *)(value + PCI_CLASS_DEVICE) = PCI_CLASS_DISPLAY_3D;
	*(u16 *)(value + PCI_SUBSYSTEM_VENDOR_ID) = 0x10de;
	*(u16 *)(value + PCI_SUBSYSTEM_ID) = 0x16c1;
	*(u16 *)(value + PCI_COMMAND) = PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER;
	*(u16 *)(writable + PCI_COMMAND) = 0x547;
	if (!(noirq & BIT(gpu))) {
		value[PCI_INTERRUPT_LINE] = GPU_IRQ;
		value[PCI_INTERRUPT_PIN] = 1;
	}
	writable[PCI_INTERRUPT_LINE] = 0xff;
	set_bar(gpu, 0, start, 16 << 20, 0); // registers
	set_bar(gpu, 1, start + (16 << 20), 8 << 20,
		PCI_BASE_ADDRESS_MEM_TYPE_64 | PCI_BASE_ADDRESS_MEM_PREFETCH); // frame buffer
	set_bar(gpu, 3, start + (24 << 20), 8 << 20,
		PCI_BASE_ADDRESS_MEM_TYPE_64 | PCI_BASE_ADDRESS_MEM_PREFETCH);
}

static int fill_registers(int gpu)
{
	void __iomem *regs = ioremap(base + gpu * GPU_SPAN, 16 << 20);

	if (!regs)
		return -ENOMEM;
	memset_io(regs, 0, 1 << 20);
	writel(0x180000a1, regs); // PMC_BOOT_0 and PMC_BOOT_42: Hopper GH100
	writel(0x180000a1, regs + 0xa00);
	iounmap(regs);
	return 0;
}

// The driver reads pci_dev::irq in its probe, which its init calls after this notifier has run.
static int on_module(struct notifier_block *block, unsigned long state, void *data)
{
	struct module *mod = data;
	struct pci_dev *gpu;
	bool bad;

	if (state != MODULE_STATE_COMING || strcmp(mod->name, "nvidia") != 0)
		return NOTIFY_DONE;
	bad = reject[0] && mod->version && strcmp(mod->version, strim(reject)) == 0;
	list_for_each_entry(gpu, &bus->devices, bus_list) {
		u32 bit = BIT(PCI_SLOT(gpu->devfn));

		gpu->irq = (noirq & bit) || (bad && (reject_mask & bit)) ? 0 : GPU_IRQ;
	}
	return NOTIFY_OK;
}

// Adds a removed GPU again. /sys/bus/pci/rescan can't: it allocates new addresses for BARs, none of them in
// RAM.
static int plug(const char *value, const struct kernel_param *parameter)
{
	uint gpu;
	int rc = kstrtouint(value, 0, &gpu);

	if (rc)
		return rc;
	if (!bus || gpu >= gpus)
		return -EINVAL;
	pci_lock_rescan_remove();
	pci_scan_slot(bus, PCI_DEVFN(gpu, 0));
	pci_bus_claim_resources(bus);
	pci_bus_add_devices(bus);
	pci_unlock_rescan_remove();
	return 0;
}

static const struct kernel_param_ops plug_ops = { .set = plug };
module_param_cb(plug, &plug_ops, NULL, 0200);
MODULE_PARM_DESC(plug, "number of a removed GPU to add again");

// Prints a message as NVIDIA's driver does. Programs can't: the kernel marks what they write to /dev/kmsg.
static int report(const char *value, const struct kernel_param *parameter)
{
	printk(KERN_ERR "NVRM: %s", value);
	return 0;
}

static const struct kernel_param_ops report_ops = { .set = report };
module_param_cb(report, &report_ops, NULL, 0200);
MODULE_PARM_DESC(report, "text of a message of the driver");

static struct notifier_block module_watch = { .notifier_call = on_module };

static int __init fakegpu_init(void)
{
	LIST_HEAD(resources);
	int gpu, rc;

	if (gpus < 1 || gpus > MAX_GPUS)
		return -EINVAL;
	for (gpu = 0; gpu < gpus; gpu++) {
		fill_config(gpu);
		rc = fill_registers(gpu);
		if (rc)
			return rc;
	}
	mem_range.start = base;
	mem_range.end = base + gpus * GPU_SPAN - 1;
	pci_add_resource(&resources, &bus_range);
	pci_add_resource(&resources, &mem_range);
	bus = pci_scan_root_bus(NULL, 0, &ops, &sysdata, &resources);
	if (!bus)
		return -ENODEV;
	pci_bus_claim_resources(bus);
	pci_bus_add_devices(bus);
	return register_module_notifier(&module_watch);
}

static void __exit fakegpu_exit(void)
{
	unregister_module_notifier(&module_watch);
	pci_stop_root_bus(bus);
	pci_remove_root_bus(bus);
}

module_init(fakegpu_init);
module_exit(fakegpu_exit);
MODULE_DESCRIPTION("Fake NVIDIA GPUs on the PCI bus, for tests");
MODULE_LICENSE("GPL");
