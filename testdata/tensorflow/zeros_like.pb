
Z
x0Placeholder*
_user_specified_namex0*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ
#
	ZerosLike	ZerosLikex0*
T0
(
IdentityIdentity	ZerosLike*
T0"ª