
Q
x0Placeholder*
_user_specified_namex0*
dtype0*
shape
:
3
	LeakyRelu	LeakyRelux0*
T0*
alpha%ÍÌL>
(
IdentityIdentity	LeakyRelu*
T0"ª