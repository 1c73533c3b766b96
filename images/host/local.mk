# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/content/crypto daemon/content/set daemon/core images images/bundle
#   images/store
images_libimages_a_SOURCES += \
    %D%/containerd.cpp \
    %D%/containerd.hpp \
    %D%/containerd_config.cpp \
    %D%/containerd_config.hpp \
    %D%/crio_pins.cpp \
    %D%/crio_pins.hpp \
    %D%/crio_reload.cpp \
    %D%/crio_reload.hpp \
    %D%/docker.cpp \
    %D%/docker.hpp \
    %D%/image_documents.cpp \
    %D%/image_documents.hpp \
    %D%/image_runtime.cpp \
    %D%/image_runtime.hpp \
    %D%/k3s.cpp \
    %D%/k3s.hpp \
    %D%/kubelet.cpp \
    %D%/kubelet.hpp \
    %D%/mirrors.cpp \
    %D%/mirrors.hpp \
    %D%/mirrors_step.cpp \
    %D%/mirrors_step.hpp \
    %D%/placement.cpp \
    %D%/placement.hpp \
    %D%/podman.cpp \
    %D%/podman.hpp \
    %D%/registries_conf.cpp \
    %D%/registries_conf.hpp \
    %D%/repositories.cpp \
    %D%/repositories.hpp \
    %D%/repositories_step.cpp \
    %D%/repositories_step.hpp
