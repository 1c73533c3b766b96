// SPDX-License-Identifier: GPL-2.0
// Depends on nvidia.ko. With stuck=1 its exit never returns: the unload hangs in the kernel and its process
// is in uninterruptible sleep, as nvidia-uvm has been observed to do. For tests only.
#include <linux/delay.h>
#include <linux/module.h>

static bool stuck;
module_param(stuck, bool, 0644);
MODULE_PARM_DESC(stuck, "block in the exit indefinitely");

// A symbol that nvidia.ko exports. Its address, which the init reads, makes this module depend on nvidia.
extern int nvidia_p2p_free_page_table(void *page_table);
static void *volatile anchor;

static int __init stuckexit_init(void)
{
	anchor = nvidia_p2p_free_page_table;
	return 0;
}

static void __exit stuckexit_exit(void)
{
	while (READ_ONCE(stuck))
		msleep(100);
}

module_init(stuckexit_init);
module_exit(stuckexit_exit);
MODULE_DESCRIPTION("A module that depends on nvidia and whose exit can hang, for tests");
MODULE_VERSION(STUCKEXIT_VERSION);
MODULE_LICENSE("GPL");
