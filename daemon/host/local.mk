# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += %D%/libhost.a
%C%_libhost_a_CPPFLAGS = $(AM_CPPFLAGS) $(SYSTEMD_CFLAGS)
%C%_libhost_a_SOURCES = \
    %D%/transaction/audit.cpp \
    %D%/transaction/audit.hpp \
    %D%/bus_connection.cpp \
    %D%/bus_connection.hpp \
    %D%/manager/cluster_side.cpp \
    %D%/manager/cluster_side.hpp \
    %D%/event.cpp \
    %D%/event.hpp \
    %D%/transaction/history.cpp \
    %D%/transaction/history.hpp \
    %D%/worker/job_files.cpp \
    %D%/worker/job_files.hpp \
    %D%/worker/job_worker.cpp \
    %D%/worker/job_worker.hpp \
    %D%/journal_sink.cpp \
    %D%/journal_sink.hpp \
    %D%/worker/launcher.hpp \
    %D%/worker/launcher_direct.cpp \
    %D%/worker/launcher_direct.hpp \
    %D%/manager/kubelet_files.cpp \
    %D%/manager/kubelet_files.hpp \
    %D%/worker/launcher_systemd.cpp \
    %D%/worker/launcher_systemd.hpp \
    %D%/manager/manager.cpp \
    %D%/manager/manager.hpp \
    %D%/manager/mounted_system.cpp \
    %D%/manager/mounted_system.hpp \
    %D%/notify.cpp \
    %D%/notify.hpp \
    %D%/transaction/operation.cpp \
    %D%/transaction/operation.hpp \
    %D%/transaction/runner.cpp \
    %D%/transaction/runner.hpp \
    %D%/transaction/runner_resume.cpp \
    %D%/worker/sandbox.cpp \
    %D%/worker/sandbox.hpp \
    %D%/transaction/sweeper.cpp \
    %D%/transaction/sweeper.hpp \
    %D%/worker/worker.cpp \
    %D%/worker/worker.hpp \
    %D%/worker/worker_socket.cpp \
    %D%/worker/worker_socket.hpp
