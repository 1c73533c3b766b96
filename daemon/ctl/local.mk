# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += %D%/libctl.a
%C%_libctl_a_CPPFLAGS = $(AM_CPPFLAGS) $(SYSTEMD_CFLAGS)
%C%_libctl_a_SOURCES = \
    %D%/arguments.cpp \
    %D%/arguments.hpp \
    %D%/bundle_call.hpp \
    %D%/bundle_files.cpp \
    %D%/bundle_files.hpp \
    %D%/bundle_signing.cpp \
    %D%/bundle_signing.hpp \
    %D%/byte_meter.cpp \
    %D%/byte_meter.hpp \
    %D%/client.cpp \
    %D%/client.hpp \
    %D%/client_bus.cpp \
    %D%/client_bus.hpp \
    %D%/cmd_apply.cpp \
    %D%/cmd_bundle_create.cpp \
    %D%/cmd_bundle_diff.cpp \
    %D%/cmd_bundle_import.cpp \
    %D%/cmd_bundle_list.cpp \
    %D%/cmd_bundle_remove.cpp \
    %D%/cmd_bundle_scrub.cpp \
    %D%/cmd_bundle_show.cpp \
    %D%/cmd_bundle_verify.cpp \
    %D%/cmd_cat_config.cpp \
    %D%/cmd_driver_build.cpp \
    %D%/cmd_driver_import.cpp \
    %D%/cmd_driver_list.cpp \
    %D%/cmd_driver_remove.cpp \
    %D%/cmd_driver_rollback.cpp \
    %D%/cmd_driver_show.cpp \
    %D%/cmd_driver_swap.cpp \
    %D%/cmd_driver_verify.cpp \
    %D%/cmd_image_list.cpp \
    %D%/cmd_image_show.cpp \
    %D%/cmd_operation_cancel.cpp \
    %D%/cmd_operation_list.cpp \
    %D%/cmd_operation_show.cpp \
    %D%/cmd_operation_wait.cpp \
    %D%/cmd_plan.cpp \
    %D%/cmd_reload.cpp \
    %D%/cmd_status.cpp \
    %D%/cmd_wait_ready.cpp \
    %D%/document.hpp \
    %D%/driver_call.hpp \
    %D%/follow.cpp \
    %D%/follow.hpp \
    %D%/help.cpp \
    %D%/help.hpp \
    %D%/holders.cpp \
    %D%/holders.hpp \
    %D%/image_call.hpp \
    %D%/input_files.cpp \
    %D%/input_files.hpp \
    %D%/interrupt.cpp \
    %D%/interrupt.hpp \
    %D%/nearest.cpp \
    %D%/output_file.cpp \
    %D%/output_file.hpp \
    %D%/password_agent.cpp \
    %D%/password_agent.hpp \
    %D%/progress.cpp \
    %D%/progress.hpp \
    %D%/request.cpp \
    %D%/request.hpp \
    %D%/session.cpp \
    %D%/session.hpp \
    %D%/small_file.cpp \
    %D%/small_file.hpp \
    %D%/table.cpp \
    %D%/table.hpp \
    %D%/terminal.cpp \
    %D%/terminal.hpp \
    %D%/text.cpp \
    %D%/text.hpp \
    %D%/verb.cpp \
    %D%/verb.hpp \
    %D%/verbs_bundle.hpp \
    %D%/verbs_driver.hpp \
    %D%/verbs_host.hpp \
    %D%/verbs_image.hpp \
    %D%/verbs_operation.hpp \
    %D%/view.hpp \
    %D%/view_bundle.cpp \
    %D%/view_driver.cpp \
    %D%/view_image.cpp \
    %D%/view_operation.cpp \
    %D%/view_plan.cpp \
    %D%/view_status.cpp

bin_PROGRAMS += gpuhostctl
gpuhostctl_LDADD = $(ctl_libs)
gpuhostctl_SOURCES = %D%/main.cpp
